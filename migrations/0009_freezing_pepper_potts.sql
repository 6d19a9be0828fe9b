CREATE TABLE "webhook_deliveries" (
	"webhook_id" text COLLATE "C" NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"id" uuid NOT NULL,
	"message_id" text COLLATE "C" NOT NULL,
	"type" text COLLATE "C" NOT NULL,
	"tenant_id" text COLLATE "C",
	"status" integer,
	"error" text COLLATE "C",
	"duration_ms" integer NOT NULL,
	CONSTRAINT "webhook_deliveries_webhook_id_at_id_pk" PRIMARY KEY("webhook_id","at","id")
);
--> statement-breakpoint
CREATE TABLE "webhooks" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"tenant_id" text COLLATE "C",
	"url" text COLLATE "C" NOT NULL,
	"secret" text COLLATE "C" NOT NULL,
	"previous_secret" text COLLATE "C",
	"previous_until" timestamp with time zone,
	"types" text[],
	"path" text COLLATE "C",
	"content" boolean NOT NULL,
	"cursor" text COLLATE "C" NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"disabled_reason" text COLLATE "C",
	"failing_since" timestamp with time zone,
	"failures" integer DEFAULT 0 NOT NULL,
	"gap_at" timestamp with time zone,
	"next_attempt_at" timestamp with time zone NOT NULL,
	"holder" text COLLATE "C",
	"lease_until" timestamp with time zone
);
--> statement-breakpoint
CREATE INDEX "webhook_deliveries_at" ON "webhook_deliveries" USING btree ("at");--> statement-breakpoint
CREATE INDEX "webhooks_next" ON "webhooks" USING btree ("next_attempt_at");--> statement-breakpoint
CREATE INDEX "webhooks_tenant" ON "webhooks" USING btree ("tenant_id","id");