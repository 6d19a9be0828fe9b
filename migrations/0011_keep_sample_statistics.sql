-- The sample of 0008_sample_statistics.sql leaves tables that autovacuum would find empty a minute later. Plans made then read a whole tenant
-- for each row, until there is data and autovacuum comes again; an import, one transaction, would never see better ones. So autovacuum first
-- comes after 5,000 changes: the sample is up to 3,600. On Citus, the sample is not on the shards.
-- See docs/decisions/0009-autovacuum-thresholds.md.
DO $$
BEGIN
	IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
		RETURN;
	END IF;
	ALTER TABLE entries SET (
		autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = 5000, autovacuum_analyze_threshold = 5000
	);
	ALTER TABLE versions SET (
		autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = 5000, autovacuum_analyze_threshold = 5000
	);
END
$$;
