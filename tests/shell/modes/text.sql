-- Text that a mode must quote, escape or measure.
SELECT 'plain' AS a, 'two words' AS b, '' AS empty, ' lead' AS c, 'trail ' AS d;
SELECT 'it''s' AS quote, 'say "hi"' AS double_quote, 'a|b' AS pipe, 'a,b' AS comma, 'a\b' AS backslash, 'a&b<c>d' AS html;
SELECT E'one\ntwo' AS newline, E'tab\there' AS tab, E'cr\rlf\r\n' AS crlf, E'\n' AS only, E'a\n\nb\n' AS more;
SELECT chr(7) AS bell, chr(27) || '[0m' AS escape, chr(1) || 'x' AS soh, 'x' || chr(127) AS del, chr(8) || chr(11) || chr(12) AS others;
SELECT 'é' AS latin, '日本語' AS cjk, 'e' || chr(769) AS combining, '👍🏽' AS tone, '👩‍👩‍👧' AS family, '🇩🇪' AS flag, 'ﬁ' AS ligature;
SELECT 'NULL' AS a, 'null' AS b, NULL AS c, '\N' AS d, '1' AS e, 'true' AS f, '%_$#' AS g, '{x}' AS h;
SELECT v, length(v) AS n FROM (VALUES ('short'), (E'a\tb\tc'), (E'12345678\tx'), (E'long line\nshort'), (NULL), ('日本'), (E'\t')) t(v);
