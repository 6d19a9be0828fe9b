CREATE TABLE "invitations" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"hash" text COLLATE "C" NOT NULL,
	"tenant_id" text COLLATE "C" NOT NULL,
	"access" text COLLATE "C" NOT NULL,
	"prefix" text COLLATE "C",
	"is_reusable" boolean NOT NULL,
	"accepted" bigint DEFAULT 0 NOT NULL,
	"key_id" text COLLATE "C",
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "invitations_hash" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "shares" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"tenant_id" text COLLATE "C" NOT NULL,
	"to_tenant" text COLLATE "C" NOT NULL,
	"invitation_id" text COLLATE "C" NOT NULL,
	"invitation_hash" text COLLATE "C" NOT NULL,
	"access" text COLLATE "C" NOT NULL,
	"prefix" text COLLATE "C",
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "drafts" ADD COLUMN "via_tenant" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "rights" jsonb;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "can_share" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "provenance" text COLLATE "C";--> statement-breakpoint
CREATE INDEX "invitations_tenant" ON "invitations" USING btree ("tenant_id","created_at");--> statement-breakpoint
CREATE INDEX "invitations_expiry" ON "invitations" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "shares_tenant" ON "shares" USING btree ("tenant_id","created_at");--> statement-breakpoint
CREATE INDEX "shares_receiver" ON "shares" USING btree ("to_tenant");--> statement-breakpoint
CREATE INDEX "drafts_via" ON "drafts" USING btree ("via_tenant") WHERE via_tenant IS NOT NULL;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_rights" CHECK ("rights" IS NULL OR NOT ("is_admin" OR "manages_stores" OR "can_share"));--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_can_share" CHECK (NOT "can_share" OR ("tenant_id" IS NOT NULL AND "access" = 'read_write'));