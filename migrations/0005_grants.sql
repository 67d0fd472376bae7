-- OAuth: grants beside pasted keys, who renews them, clients we registered, attempts to sign in.

-- What people may know about a credential: issuer, scopes, expiry. Never anything that proves something.
ALTER TABLE credentials ADD COLUMN details jsonb NOT NULL DEFAULT '{}';

-- For the pages of one person.
CREATE INDEX credentials_by_owner ON credentials (tenant_id, owner);

-- What a link is asked for with: the server's challenge and the scopes it found missing.
ALTER TABLE tickets ADD COLUMN challenge text;
ALTER TABLE tickets ADD COLUMN scopes text[] NOT NULL DEFAULT '{}';
-- The browser session that used it up, where the link alone says who somebody is.
ALTER TABLE tickets ADD COLUMN used_by bytea;

-- Who renews a grant, and how that went. Apart from the grant, so that taking a lease is no change of it;
-- what stands here is about one version of it, and void with the next.
CREATE TABLE renewals (
  tenant_id text COLLATE "C" NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  server_id text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  holder text,
  until timestamptz NOT NULL,
  -- Of the grant, or of the definition where there is no grant yet.
  version text,
  spent boolean NOT NULL DEFAULT false,
  refusals integer NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  retry_at timestamptz,
  renewed_at timestamptz,
  PRIMARY KEY (tenant_id, server_id, owner)
);

CREATE TABLE oauth_clients (
  tenant_id text COLLATE "C" NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  server_id text COLLATE "C" NOT NULL,
  issuer text COLLATE "C" NOT NULL,
  -- Null while the first registration is under way.
  client_id text,
  redirect_uri text,
  method text,
  sealed bytea,
  secret_expires_at timestamptz,
  -- Not for new sign-ins any more; grants that were given to it are renewed with it as long as that works.
  is_over boolean NOT NULL DEFAULT false,
  holder text,
  until timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, server_id, issuer)
);

CREATE TABLE sign_in_attempts (
  tenant_id text COLLATE "C" NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  -- SHA-256 of `state`, 256 random bits: unique for all tenants without telling any of them.
  state_hash bytea NOT NULL UNIQUE,
  context_id text NOT NULL,
  principal_id text COLLATE "C" NOT NULL,
  server_id text COLLATE "C" NOT NULL,
  binding text NOT NULL,
  browser_hash bytea NOT NULL,
  sealed bytea NOT NULL,
  expires_at timestamptz NOT NULL,
  state text NOT NULL DEFAULT 'open',
  PRIMARY KEY (tenant_id, state_hash),
  CONSTRAINT sign_in_attempts_state_known CHECK (state IN ('open', 'taken', 'connected', 'denied', 'failed'))
);
CREATE INDEX sign_in_attempts_by_principal ON sign_in_attempts (tenant_id, principal_id, expires_at);
CREATE INDEX sign_in_attempts_by_age ON sign_in_attempts (tenant_id, expires_at);

-- What each tool was found to need, so that the next sign-in asks for all of it at once.
CREATE TABLE scope_needs (
  tenant_id text COLLATE "C" NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  server_id text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  tool text COLLATE "C" NOT NULL,
  scopes text[] NOT NULL,
  found_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, server_id, owner, tool)
);

-- Of the installation, not of a tenant: the key that proves us where a metadata document is our client id.
CREATE TABLE service_keys (
  id text COLLATE "C" PRIMARY KEY,
  public_jwk jsonb NOT NULL,
  sealed bytea NOT NULL,
  master_key_id text NOT NULL,
  created_at timestamptz NOT NULL
);

CREATE OR REPLACE FUNCTION forget_server() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  DELETE FROM catalogs WHERE tenant_id = OLD.tenant_id AND server_id = OLD.id::text;
  DELETE FROM credentials WHERE tenant_id = OLD.tenant_id AND server_id = OLD.id::text;
  DELETE FROM tickets WHERE tenant_id = OLD.tenant_id AND server_id = OLD.id::text;
  DELETE FROM renewals WHERE tenant_id = OLD.tenant_id AND server_id = OLD.id::text;
  DELETE FROM oauth_clients WHERE tenant_id = OLD.tenant_id AND server_id = OLD.id::text;
  DELETE FROM sign_in_attempts WHERE tenant_id = OLD.tenant_id AND server_id = OLD.id::text;
  DELETE FROM scope_needs WHERE tenant_id = OLD.tenant_id AND server_id = OLD.id::text;
  RETURN NULL;
END $$;

-- What was found out about a credential goes with it, whoever deletes the row. A lease on it that somebody holds
-- goes too: giving it back then changes nothing, and what they bring is not written, for the version is gone.
CREATE FUNCTION forget_credential() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  DELETE FROM renewals WHERE tenant_id = OLD.tenant_id AND server_id = OLD.server_id AND owner = OLD.owner;
  DELETE FROM scope_needs WHERE tenant_id = OLD.tenant_id AND server_id = OLD.server_id AND owner = OLD.owner;
  RETURN NULL;
END $$;
CREATE TRIGGER credentials_forget AFTER DELETE ON credentials
  FOR EACH ROW EXECUTE FUNCTION forget_credential();

-- A person who says no at the other site ends the wait of their call, on whatever node it waits.
CREATE FUNCTION notify_denied_sign_in() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM notify_keybearer('sign_in_denied', NEW.tenant_id, NEW.server_id, 'p:' || NEW.principal_id);
  RETURN NULL;
END $$;
CREATE TRIGGER sign_in_attempts_denied AFTER UPDATE ON sign_in_attempts
  FOR EACH ROW WHEN (NEW.state = 'denied' AND OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION notify_denied_sign_in();
