CREATE TABLE "reads" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" uuid NOT NULL,
	"memory_id" uuid NOT NULL,
	"actor" jsonb NOT NULL,
	"via_tenant" text COLLATE "C",
	"tool_use_id" text COLLATE "C",
	"count" integer NOT NULL,
	"first_at" timestamp with time zone NOT NULL,
	"last_at" timestamp with time zone NOT NULL,
	CONSTRAINT "reads_tenant_id_id_pk" PRIMARY KEY("tenant_id","id")
);
--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "read_log_days" bigint;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "read_log" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "reads" ADD CONSTRAINT "reads_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "reads_last" ON "reads" USING btree ("tenant_id","last_at","id");--> statement-breakpoint
CREATE INDEX "reads_memory" ON "reads" USING btree ("tenant_id","memory_id","last_at");--> statement-breakpoint
CREATE INDEX "reads_tool_use" ON "reads" USING btree ("tenant_id","tool_use_id") WHERE tool_use_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "reads_via" ON "reads" USING btree ("via_tenant") WHERE via_tenant IS NOT NULL;