CREATE TABLE "past_directories" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"path" text COLLATE "C" NOT NULL,
	"made_at" timestamp with time zone NOT NULL,
	"removed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "past_directories_tenant_id_path_removed_at_pk" PRIMARY KEY("tenant_id","path","removed_at")
);
--> statement-breakpoint
CREATE TABLE "version_contents" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" uuid NOT NULL,
	"content" text COLLATE "C" NOT NULL,
	"size_bytes" integer GENERATED ALWAYS AS (octet_length(content)) STORED,
	CONSTRAINT "version_contents_tenant_id_id_pk" PRIMARY KEY("tenant_id","id")
);
--> statement-breakpoint
CREATE TABLE "versions" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" uuid NOT NULL,
	"memory_id" uuid NOT NULL,
	"operation" text COLLATE "C" NOT NULL,
	"path" text COLLATE "C",
	"content_id" uuid,
	"size_bytes" integer,
	"created_at" timestamp with time zone NOT NULL,
	"superseded_at" timestamp with time zone NOT NULL,
	"origin" jsonb,
	"redacted_at" timestamp with time zone,
	"redacted_by" jsonb,
	CONSTRAINT "versions_tenant_id_id_pk" PRIMARY KEY("tenant_id","id")
);
--> statement-breakpoint
ALTER TABLE "entries" ADD COLUMN "memory_id" uuid;--> statement-breakpoint
ALTER TABLE "entries" ADD COLUMN "content_id" uuid;--> statement-breakpoint
ALTER TABLE "entries" ADD COLUMN "operation" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "entries" ADD COLUMN "changed_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "entries" ADD COLUMN "origin" jsonb;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "history_days" bigint;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "max_history_bytes" bigint;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "history_versions" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "history_bytes" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "history_since" timestamp with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "last_change_at" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "past_directories_removed" ON "past_directories" USING btree ("tenant_id","removed_at");--> statement-breakpoint
CREATE INDEX "versions_created" ON "versions" USING btree ("tenant_id","created_at");--> statement-breakpoint
CREATE INDEX "versions_superseded" ON "versions" USING btree ("tenant_id","superseded_at");--> statement-breakpoint
CREATE INDEX "versions_memory" ON "versions" USING btree ("tenant_id","memory_id","created_at");--> statement-breakpoint
CREATE INDEX "versions_path" ON "versions" USING btree ("tenant_id","path","created_at");--> statement-breakpoint
-- As in 0004_lz4.sql. Contents that come here keep the compression that they have; others, as of a restore, get this one.
DO $$
BEGIN
	EXECUTE 'ALTER TABLE "version_contents" ALTER COLUMN "content" SET COMPRESSION lz4';
EXCEPTION WHEN feature_not_supported OR syntax_error THEN
	NULL;
END
$$;
