-- Who sits in front of a browser: sign-ins under way, sessions, and links that were opened by somebody else.
-- Every secret is in the browser; here are hashes of them, so a copy of these rows lets nobody in.

CREATE TABLE browser_sessions (
  tenant_id text COLLATE "C" NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  -- SHA-256 of the cookie, 256 random bits: unique for all tenants without telling any of them.
  hash bytea NOT NULL UNIQUE,
  -- One person; several names where agents may use either. The first is the one for new sign-ins.
  principals text[] COLLATE "C" NOT NULL,
  -- How the person was proved. When the tenant's way changes, what was proved another way counts no more.
  proof text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, hash),
  CONSTRAINT browser_sessions_somebody CHECK (cardinality(principals) > 0)
);
CREATE INDEX browser_sessions_by_age ON browser_sessions (tenant_id, expires_at);

CREATE TABLE browser_sign_ins (
  tenant_id text COLLATE "C" NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  -- Stands in addresses and names a cookie; grants nothing.
  id text COLLATE "C" NOT NULL UNIQUE,
  mode text NOT NULL,
  browser_hash bytea NOT NULL,
  -- Mode oidc: SHA-256 of `state`.
  state_hash bytea UNIQUE,
  -- Mode handoff: whom the product named, and SHA-256 of the code for the way back.
  principal_id text COLLATE "C",
  code_hash bytea UNIQUE,
  code_expires_at timestamptz,
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT browser_sign_ins_mode_known CHECK (mode IN ('oidc', 'handoff'))
);
CREATE INDEX browser_sign_ins_by_age ON browser_sign_ins (tenant_id, expires_at);

-- How often a link was opened by a person it was not made for.
CREATE TABLE ticket_mismatches (
  tenant_id text COLLATE "C" NOT NULL,
  ticket_hash bytea NOT NULL,
  times integer NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, ticket_hash),
  FOREIGN KEY (tenant_id, ticket_hash) REFERENCES tickets (tenant_id, hash) ON DELETE CASCADE
);
