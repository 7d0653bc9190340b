#!/bin/sh
# rayql gen: the rows do not depend on threads or on where they are written, the flat table is the join of the five, and
# wrong arguments are refused with a message. Usage: gen.sh RAYQL FOLDER
set -eu
rayql=$1
dir=$2
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
failures=0

ask() { # database, query: the answer's rows
	"$rayql" -init /dev/null -csv -noheader "$1" -c "$2"
}

expect() { # what, expected, got
	if [ "$2" != "$3" ]; then
		echo "$1: expected '$2', got '$3'"
		failures=$((failures + 1))
	fi
}

refuse() { # exit code, words of the message, arguments...
	code=$1
	words=$2
	shift 2
	got=0
	"$rayql" gen "$@" >out.txt 2>err.txt || got=$?
	expect "exit code of: gen $*" "$code" "$got"
	grep -q "$words" err.txt || {
		echo "gen $*: no '$words' in: $(cat err.txt)"
		failures=$((failures + 1))
	}
}

"$rayql" gen ssb --sf 0.03 --all --threads 1 --out one.db >/dev/null
"$rayql" gen ssb --sf 0.03 --all --threads 3 --out three.db >/dev/null
"$rayql" gen ssb --sf 0.03 --all --parquet files >/dev/null

for table in lineorder customer supplier part date lineorder_flat; do
	sum="SELECT count(*), sum(hash(t)::HUGEINT) FROM"
	one=$(ask one.db "$sum $table t")
	expect "$table with three threads" "$one" "$(ask three.db "$sum $table t")"
	expect "$table in Parquet files" "$one" "$(ask one.db "$sum read_parquet('files/$table/*.parquet') t")"
	expect "$table from the table function" "$one" "$(ask one.db "$sum rayql_ssb('$table', 0.03, 42) t")"
done

expect "lines" 180004 "$(ask one.db "SELECT count(*) FROM lineorder" | tr -d '\r')"

join="SELECT lo_orderkey, lo_linenumber, lo_custkey, lo_partkey, lo_suppkey, strptime(lo_orderdate::VARCHAR, '%Y%m%d')::DATE,
	lo_orderpriority, lo_shippriority, lo_quantity, lo_extendedprice, lo_ordtotalprice, lo_discount, lo_revenue, lo_supplycost,
	lo_tax, strptime(lo_commitdate::VARCHAR, '%Y%m%d')::DATE, lo_shipmode, c_name, c_address, c_city, c_nation, c_region,
	c_phone, c_mktsegment, s_name, s_address, s_city, s_nation, s_region, s_phone, p_name, p_mfgr, p_category, p_brand1, p_color,
	p_type, p_size, p_container
	FROM lineorder, customer, supplier, part, date
	WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_partkey = p_partkey AND lo_orderdate = d_datekey"
expect "flat rows that the join lacks" 0 \
	"$(ask one.db "SELECT count(*) FROM (SELECT * FROM lineorder_flat EXCEPT ALL ($join))" | tr -d '\r')"
# as many rows: then flat lacks none of the join's
expect "rows of the join" 180004 "$(ask one.db "SELECT count(*) FROM ($join)" | tr -d '\r')"
expect "rows of flat" 180004 "$(ask one.db "SELECT count(*) FROM lineorder_flat" | tr -d '\r')"
expect "commit dates outside the calendar" 0 \
	"$(ask one.db "SELECT count(*) FROM lineorder WHERE lo_commitdate NOT IN (SELECT d_datekey FROM date)" | tr -d '\r')"

refuse 1 'has a table lineorder already' ssb --sf 0.01 --out one.db
refuse 1 'is not empty' ssb --sf 0.01 --parquet files
refuse 2 'ssb' # no benchmark
refuse 2 'no benchmark tpch' tpch
refuse 2 'expected a number' ssb --sf many
refuse 2 'expected a number' ssb --sf 0
refuse 2 'needs a value' ssb --seed
refuse 2 'no option --flatt' ssb --flatt
refuse 2 'exclude each other' ssb --out x.db --parquet y
refuse 1 'missing/x.db' ssb --sf 0.01 --out missing/x.db
echo "not a database" >text.db
refuse 1 'text.db' ssb --sf 0.01 --out text.db
[ -e missing ] && echo "a failed call left a folder" && failures=$((failures + 1))

"$rayql" gen ssb --sf 0.01 --replace --out one.db >/dev/null
expect "replaced lines" 59997 "$(ask one.db "SELECT count(*) FROM lineorder" | tr -d '\r')"
[ "$failures" -eq 0 ]
