"""A first accelerated answer: python first.py shop.db"""

import sys

import rayql

con = rayql.connect(sys.argv[1])
con.execute("CREATE TABLE IF NOT EXISTS sales AS SELECT i % 40 AS shop, i::DECIMAL(12, 2) AS amount FROM range(500000) r(i)")
con.execute("CREATE INDEX IF NOT EXISTS sales_columns ON sales USING columns (*)")
print(con.execute("SELECT shop, sum(amount) FROM sales WHERE amount >= 1000 GROUP BY shop ORDER BY shop LIMIT 3").fetchall())
print(*con.execute("SELECT method, reason FROM rayql_last_query()").fetchone(), sep=": ")
