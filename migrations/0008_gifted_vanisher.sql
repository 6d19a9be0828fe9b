CREATE TABLE "tenant_events" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"id" uuid NOT NULL,
	"type" text COLLATE "C" NOT NULL,
	"actor" jsonb NOT NULL,
	"details" jsonb NOT NULL,
	"fleet_only" boolean NOT NULL,
	CONSTRAINT "tenant_events_tenant_id_at_id_pk" PRIMARY KEY("tenant_id","at","id")
);
--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "last_event_at" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "tenant_events_fleet_only" ON "tenant_events" USING btree ("at") WHERE fleet_only;