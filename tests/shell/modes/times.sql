-- Dates, times, intervals, and the types that print as text.
SET TimeZone = 'UTC';
SELECT DATE '2024-02-29' AS d, DATE '-infinity' AS before, DATE 'infinity' AS after, DATE '0044-03-15 (BC)' AS ides;
SELECT TIME '12:34:56.789' AS t, TIME '00:00:00' AS midnight, '12:00:00+02'::TIMETZ AS tz;
SELECT TIMESTAMP '1969-12-31 23:59:59.999999' AS us, '2024-01-01'::TIMESTAMP_S AS s, '2024-01-01 00:00:00.123'::TIMESTAMP_MS AS ms,
  '2024-01-01 00:00:00.123456789'::TIMESTAMP_NS AS ns, '2024-07-01 12:00:00+02'::TIMESTAMPTZ AS tz;
SELECT INTERVAL 1 YEAR AS y, INTERVAL '1 month 2 days 03:04:05.006' AS mixed, INTERVAL (-90) MINUTE AS back;
SELECT 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'::UUID AS id, '\xAA\x00abc'::BLOB AS b, '10101'::BIT AS bits,
  'happy'::ENUM('sad', 'happy') AS mood;
SELECT NULL::DATE AS d, NULL::TIMESTAMP AS t, NULL::UUID AS u, NULL::BLOB AS b;
