CREATE TABLE "invitations" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"hash" text COLLATE "C" NOT NULL,
	"tenant_id" text COLLATE "C" NOT NULL,
	"access" text COLLATE "C" NOT NULL,
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
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "api_keys" DROP CONSTRAINT "api_keys_rights";--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "can_share" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "invitations_tenant" ON "invitations" USING btree ("tenant_id","created_at");--> statement-breakpoint
CREATE INDEX "invitations_expiry" ON "invitations" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "shares_tenant" ON "shares" USING btree ("tenant_id","created_at");--> statement-breakpoint
CREATE INDEX "shares_receiver" ON "shares" USING btree ("to_tenant");--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_can_share" CHECK (NOT "api_keys"."can_share" OR ("api_keys"."tenant_id" IS NOT NULL AND "api_keys"."access" = 'read_write'));--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_rights" CHECK ("api_keys"."rights" IS NULL OR NOT ("api_keys"."is_admin" OR "api_keys"."manages_stores" OR "api_keys"."can_share"));