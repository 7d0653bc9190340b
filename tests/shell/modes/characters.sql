-- modes: duckbox box
-- Characters of several code points are as wide as their first.
SELECT * FROM (VALUES ('क्ष त्र', 'क + ष'), ('한국어', 'syllables'), (chr(4352) || chr(4449) || chr(4520), 'letters'),
  ('👩‍👩‍👧 👍🏽', 'joined, tone'), ('🇩🇪🇫🇷', 'flags'), ('x' || chr(8205) || 'y', 'no pictographs'), ('ไทยกำ', 'Thai'), ('ﾊﾟ', 'half width'),
  ('é', 'one'), ('e' || chr(769), 'two'), (chr(1536) || '12', 'prepended'), ('日本' || chr(12330), 'tone mark'), (chr(917504), 'unassigned')) t(c, what);
