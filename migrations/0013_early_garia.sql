ALTER TABLE "drafts" ADD COLUMN "via_tenant" text COLLATE "C";--> statement-breakpoint
CREATE INDEX "drafts_via" ON "drafts" USING btree ("via_tenant") WHERE via_tenant IS NOT NULL;