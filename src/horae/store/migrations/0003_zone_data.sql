-- Which version of the zone data planned the slots that have rows. There is no row until that was looked at once.

CREATE TABLE zone_data (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  version TEXT NOT NULL
) STRICT;
