CREATE TABLE "api_keys" (
	"hash" text COLLATE "C" PRIMARY KEY NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"tenant_id" text COLLATE "C",
	"access" text COLLATE "C" NOT NULL,
	"label" text COLLATE "C" DEFAULT '' NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone,
	"revoked_at" timestamp with time zone,
	"last_used_at" timestamp with time zone,
	CONSTRAINT "api_keys_access" CHECK ("api_keys"."access" IN ('read_write', 'read_only'))
);
--> statement-breakpoint
ALTER TABLE "entries" ADD COLUMN "accessed_at" timestamp with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "suspended_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "max_file_bytes" bigint;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "max_bytes" bigint;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "max_files" bigint;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "max_view_chars" bigint;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "rate_per_minute" bigint;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "ttl_days" bigint;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "redact" text COLLATE "C";--> statement-breakpoint
CREATE INDEX "api_keys_id" ON "api_keys" USING btree ("id");--> statement-breakpoint
CREATE INDEX "api_keys_tenant" ON "api_keys" USING btree ("tenant_id");--> statement-breakpoint
ALTER TABLE "tenants" ADD CONSTRAINT "tenants_redact" CHECK ("tenants"."redact" IN ('off', 'mask', 'reject'));