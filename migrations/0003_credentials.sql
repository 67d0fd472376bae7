-- Credentials at rest (sealed by the vault), the wrapped keys that seal them, and sign-in tickets.

-- One sequence for all, so that a version is never used twice for the same key.
CREATE SEQUENCE credential_versions AS bigint;

CREATE TABLE credentials (
  tenant_id text COLLATE "C" NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  server_id text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  version bigint NOT NULL DEFAULT nextval('credential_versions'),
  binding text NOT NULL,
  sealed bytea NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, server_id, owner)
);

CREATE TABLE data_keys (
  tenant_id text COLLATE "C" NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  id text COLLATE "C" NOT NULL,
  wrapped bytea NOT NULL,
  master_key_id text NOT NULL,
  is_current boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX data_keys_one_current ON data_keys (tenant_id) WHERE is_current;

CREATE TABLE tickets (
  tenant_id text COLLATE "C" NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  -- SHA-256 of the ticket text, 256 random bits: unique for all tenants without telling any of them.
  hash bytea NOT NULL UNIQUE,
  principal_id text COLLATE "C" NOT NULL,
  server_id text COLLATE "C" NOT NULL,
  binding text NOT NULL,
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  PRIMARY KEY (tenant_id, hash)
);
CREATE INDEX tickets_by_principal ON tickets (tenant_id, principal_id, expires_at);
CREATE INDEX tickets_by_server ON tickets (tenant_id, server_id);

-- What hangs on a server goes with it, whoever deletes the row.
CREATE FUNCTION forget_server() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  DELETE FROM catalogs WHERE tenant_id = OLD.tenant_id AND server_id = OLD.id::text;
  DELETE FROM credentials WHERE tenant_id = OLD.tenant_id AND server_id = OLD.id::text;
  DELETE FROM tickets WHERE tenant_id = OLD.tenant_id AND server_id = OLD.id::text;
  RETURN NULL;
END $$;
CREATE TRIGGER servers_forget AFTER DELETE ON servers
  FOR EACH ROW EXECUTE FUNCTION forget_server();
