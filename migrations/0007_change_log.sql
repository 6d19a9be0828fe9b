-- Appends a change to the change log, unless the log is off, the tenant is a draft, or p_at is null. The caller has locked
-- the tenant. A transaction may append a change several times. On Citus, `migrate` replaces this function
-- (migrations/citus/memory_log_change.sql).
CREATE FUNCTION memory_log_change(p_tenant text, p_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO change_log (tenant_id, at, xid, node, part)
	SELECT p_tenant, p_at, pg_current_xact_id()::text::bigint, 0, s.part FROM change_log_state AS s
	WHERE p_at IS NOT NULL AND NOT starts_with(p_tenant, 'draft_');
END
$$;
--> statement-breakpoint
CREATE TABLE "change_log" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"xid" bigint NOT NULL,
	"node" integer NOT NULL,
	"part" smallint NOT NULL
) PARTITION BY LIST ("part");
--> statement-breakpoint
CREATE TABLE "change_log_0" PARTITION OF "change_log" FOR VALUES IN (0);
--> statement-breakpoint
CREATE TABLE "change_log_1" PARTITION OF "change_log" FOR VALUES IN (1);
--> statement-breakpoint
CREATE TABLE "change_log_2" PARTITION OF "change_log" FOR VALUES IN (2);
--> statement-breakpoint
CREATE TABLE "change_log_state" (
	"part" smallint NOT NULL,
	"since" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "change_ticks" (
	"at" timestamp with time zone NOT NULL,
	"node" integer NOT NULL,
	"system" text COLLATE "C" NOT NULL,
	"snapshot" text COLLATE "C" NOT NULL,
	CONSTRAINT "change_ticks_at_node_pk" PRIMARY KEY("at","node")
);
--> statement-breakpoint
CREATE INDEX "change_log_xid" ON "change_log" USING btree ("xid");--> statement-breakpoint
CREATE UNIQUE INDEX "change_log_state_row" ON "change_log_state" USING btree ((1)) WHERE part >= 0;