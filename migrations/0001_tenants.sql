-- Tenants, the issuers whose signed tokens they accept, and their agent keys.
--
-- Keys are text with collation "C": they are compared byte for byte, and an index on them does not
-- break when the operating system's locale data changes. No text has a length (RFC 6749 sets no
-- size for tokens either); limits belong to the edges.

CREATE TABLE tenants (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  sign_in jsonb NOT NULL DEFAULT '{"mode": "link"}',
  gated_default jsonb NOT NULL DEFAULT 'false',
  limits jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT tenants_id_form CHECK (id ~ '^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$'),
  -- A way of signing in that nobody understands must not be stored, for it could only be guessed at.
  CONSTRAINT tenants_sign_in_form CHECK (COALESCE(
    CASE sign_in ->> 'mode'
      WHEN 'link' THEN true
      WHEN 'oidc' THEN jsonb_typeof(sign_in -> 'issuer') = 'string' AND jsonb_typeof(sign_in -> 'clientId') = 'string'
      WHEN 'handoff' THEN jsonb_typeof(sign_in -> 'verifyUrl') = 'string' AND jsonb_typeof(sign_in -> 'key') = 'string'
    END, false)),
  CONSTRAINT tenants_limits_form CHECK (jsonb_typeof(limits) = 'object')
);

CREATE TABLE issuers (
  tenant_id text COLLATE "C" NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  issuer text COLLATE "C" NOT NULL,
  jwks_uri text,
  jwks jsonb,
  audience text NOT NULL,
  principal_claim text NOT NULL DEFAULT 'sub',
  tenant_claim text,
  algorithms text[] NOT NULL,
  PRIMARY KEY (tenant_id, issuer),
  CONSTRAINT issuers_one_key_source CHECK (num_nonnulls(jwks_uri, jwks) = 1)
);
-- A token names its issuer before it names a tenant.
CREATE INDEX issuers_by_issuer ON issuers (issuer);

CREATE TABLE agent_keys (
  tenant_id text COLLATE "C" NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  -- SHA-256 of the whole key text; the key itself is nowhere.
  key_hash bytea NOT NULL UNIQUE,
  principal text,
  -- Two columns, so that a principal called "*" is not everybody.
  acts_for_anyone boolean NOT NULL DEFAULT false,
  may_act_for text[] NOT NULL DEFAULT '{}',
  scopes text[] NOT NULL DEFAULT '{}',
  expires_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id)
);
