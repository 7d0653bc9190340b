-- Dot commands that change how rows are shown.
.print words "two words" 'as it is' "tab\there"
.width 10 -8
SELECT 'ab' AS a, 'cd' AS b, 12 AS c;
.width
.separator ;
SELECT 1 AS a, 'b;c' AS b;
.separator , \n
SELECT 1 AS a, 'b;c' AS b;
.separator | "\n"
.maxrows 6
SELECT range AS i, 'v' || range AS v FROM range(20);
.maxrows 40
.maxwidth 80
SELECT repeat('x', 100) AS wide, 1 AS n, repeat('word ', 30) AS words;
.maxwidth 0
.thousand_sep ,
SELECT 1234567 AS n, 1234567.891 AS d, 999 AS small, 'text 1234567' AS t, -1234567 AS minus;
.thousand_sep none
.decimal_sep ,
SELECT 1234567 AS n, 1234567.891 AS d, 1.5::DOUBLE AS r;
.decimal_sep none
.large_number_rendering all
SELECT 1234567 AS n, 1234567.891 AS d, 999999 AS small, 12345678901234 AS t, -1234567 AS minus;
.large_number_rendering footer
SELECT 1234567 AS n, 89898989898 AS d;
SELECT 1234567 AS n, 'x' AS d;
.large_number_rendering off
SELECT 1234567 AS n;
.columns
SELECT range AS i, 'v' || range AS v, NULL AS n FROM range(3);
SELECT range AS i, 'v' || range AS v FROM range(100);
SELECT 1 AS a WHERE false;
.rows
SELECT range AS i FROM range(70);
