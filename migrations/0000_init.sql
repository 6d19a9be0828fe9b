CREATE TABLE "entries" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"path" text COLLATE "C" NOT NULL,
	"parent_path" text COLLATE "C",
	"kind" text COLLATE "C" NOT NULL,
	"dir_path" text COLLATE "C" GENERATED ALWAYS AS (CASE WHEN kind = 'dir' THEN path END) STORED,
	"content" text COLLATE "C",
	"size_bytes" integer GENERATED ALWAYS AS (octet_length(content)) STORED,
	"version" uuid,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "entries_tenant_id_path_pk" PRIMARY KEY("tenant_id","path"),
	CONSTRAINT "entries_directories" UNIQUE("tenant_id","dir_path"),
	CONSTRAINT "entries_kind" CHECK ("entries"."kind" IN ('file', 'dir')),
	CONSTRAINT "entries_content" CHECK (("entries"."kind" = 'file') = ("entries"."content" IS NOT NULL AND "entries"."version" IS NOT NULL)),
	CONSTRAINT "entries_root" CHECK (("entries"."path" = '/memories') = ("entries"."parent_path" IS NULL) AND ("entries"."parent_path" IS NOT NULL OR "entries"."kind" = 'dir')),
	CONSTRAINT "entries_parent" CHECK (length("entries"."path") > length("entries"."parent_path") + 1 AND starts_with("entries"."path", "entries"."parent_path" || '/') AND strpos(substr("entries"."path", length("entries"."parent_path") + 2), '/') = 0),
	CONSTRAINT "entries_path_limits" CHECK (octet_length("entries"."path") <= 1024 AND length("entries"."path") - length(replace("entries"."path", '/', '')) <= 21)
);
--> statement-breakpoint
CREATE TABLE "tenants" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"file_count" bigint DEFAULT 0 NOT NULL,
	"byte_count" bigint DEFAULT 0 NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "tenants_usage_not_negative" CHECK ("tenants"."file_count" >= 0 AND "tenants"."byte_count" >= 0)
);
--> statement-breakpoint
ALTER TABLE "entries" ADD CONSTRAINT "entries_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "entries" ADD CONSTRAINT "entries_parent_is_directory" FOREIGN KEY ("tenant_id","parent_path") REFERENCES "public"."entries"("tenant_id","dir_path") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "entries_children" ON "entries" USING btree ("tenant_id","parent_path","path");