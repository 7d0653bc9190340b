-- modes: duckbox
-- Nested values that are laid out over several lines.
.maxwidth 120
.maxrows 20
SELECT [range, range+1, range+3] AS a, {'abc':[range,range], 'def': repeat('word ',20)} AS b, range FROM range(3);
.maxrows 20
SELECT list(range) AS a FROM range(100);
.maxrows 20
SELECT list(range) AS a FROM range(2000);
.maxrows 20
SELECT {'a':list(range),'b':{'x':1,'y':repeat('z',100)}, 'c':NULL} AS a FROM range(100);
.maxrows 60
SELECT {'a':list(range),'b':{'x':1,'y':repeat('z',100)}, 'c':NULL} AS a, {'q':[{'z':1},{'z':2}]} AS b FROM range(100);
.maxrows 60
SELECT [{'a':range,'b':'hello','c':[range]} FOR range IN range(20)] AS a;
.maxrows 20
SELECT [{'a':range,'b':'hello','c':[range]} FOR range IN range(20)] AS a;
.maxrows 20
SELECT [[1,2,3],[4,5]] AS a, repeat('x',200) AS b;
.maxrows 20
SELECT MAP{'k':1,'l':2} AS m, repeat('x',200) AS b;
.maxrows 20
SELECT ('{"a":{"b":[1,2,3],"c":null},"d":"' || repeat('q',150) || '"}')::JSON AS j;
.maxrows 100
SELECT {'a':range,'b':'hello world','c':[range,2,3],'d':{'e':1.5,'f':NULL}} AS s, repeat('y',90) AS c FROM range(3);
.maxrows 30
SELECT {'a':range,'b':'hello world','c':[range,2,3],'d':{'e':1.5,'f':NULL}} AS s, repeat('y',90) AS c FROM range(3);
