CREATE TABLE "idempotency_keys" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"key_hash" text COLLATE "C" NOT NULL,
	"request_hash" text COLLATE "C" NOT NULL,
	"content" text COLLATE "C" NOT NULL,
	"is_error" boolean NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "idempotency_keys_tenant_id_key_hash_pk" PRIMARY KEY("tenant_id","key_hash")
);
