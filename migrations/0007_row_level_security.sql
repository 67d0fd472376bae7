-- The database itself keeps tenants apart. The service works as the role keybearer_app, which owns nothing and is
-- bound by the policies below; a transaction says whose rows it is about (src/store/scope.ts), and finds no others.
-- Whoever migrates makes the role first (src/store/app-role.ts), for roles belong to the whole server.
--
-- FORCE binds the owner of the tables too. So a later migration that changes rows has to lift it, inside its
-- transaction, from the tables it changes: ALTER TABLE … NO FORCE ROW LEVEL SECURITY, and FORCE again at its end.
-- By hand, rows are changed as a superuser, or after SELECT set_config('app.tenant', 'acme', false).
--
-- NULLIF: after a transaction that set it, a setting of ours is '' instead of NULL.

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY[
    'agent_keys', 'browser_sessions', 'browser_sign_ins', 'catalogs', 'credentials', 'data_keys', 'issuers',
    'oauth_clients', 'renewals', 'scope_needs', 'servers', 'sign_in_attempts', 'ticket_mismatches', 'tickets'
  ] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format(
      $policy$CREATE POLICY own_tenant ON %I
        USING (tenant_id = NULLIF(current_setting('app.tenant', true), ''))
        WITH CHECK (tenant_id = NULLIF(current_setting('app.tenant', true), ''))$policy$, name);
  END LOOP;
END $$;

ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON tenants
  USING (id = NULLIF(current_setting('app.tenant', true), ''))
  WITH CHECK (id = NULLIF(current_setting('app.tenant', true), ''));
-- To list them, for the operator and at the start. It opens no other table.
CREATE POLICY operator_reads ON tenants FOR SELECT
  USING (current_setting('app.scope', true) = 'operator');

-- What comes with a secret is found before its tenant is known. A row shows itself to whoever names its hash, which
-- is 256 random bits or made of them; each policy is for reading, and for one row.
CREATE POLICY shown_key ON agent_keys FOR SELECT
  USING (encode(key_hash, 'hex') = NULLIF(current_setting('app.proof', true), ''));
CREATE POLICY shown_link ON tickets FOR SELECT
  USING (encode(hash, 'hex') = NULLIF(current_setting('app.proof', true), ''));
CREATE POLICY shown_state ON sign_in_attempts FOR SELECT
  USING (encode(state_hash, 'hex') = NULLIF(current_setting('app.proof', true), ''));
CREATE POLICY shown_cookie ON browser_sessions FOR SELECT
  USING (encode(hash, 'hex') = NULLIF(current_setting('app.proof', true), ''));
CREATE POLICY shown_code ON browser_sign_ins FOR SELECT
  USING (encode(code_hash, 'hex') = NULLIF(current_setting('app.proof', true), '')
    OR 'id:' || id = NULLIF(current_setting('app.proof', true), ''));

-- A token names its issuer before it names a tenant, and several tenants may have registered it.
CREATE POLICY named_issuer ON issuers FOR SELECT
  USING (issuer = NULLIF(current_setting('app.issuer', true), ''));

-- Of the installation: a statement of a tenant's transaction cannot reach it.
ALTER TABLE service_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE service_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY service_only ON service_keys
  USING (current_setting('app.scope', true) = 'service')
  WITH CHECK (current_setting('app.scope', true) = 'service');

DO $$
BEGIN
  IF NOT has_schema_privilege('keybearer_app', current_schema(), 'USAGE') THEN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO keybearer_app', current_schema());
  END IF;
END $$;
GRANT SELECT, INSERT, UPDATE, DELETE ON
  tenants, issuers, servers, catalogs, credentials, data_keys, tickets, renewals, oauth_clients, sign_in_attempts,
  scope_needs, browser_sign_ins TO keybearer_app;
GRANT SELECT, INSERT, DELETE ON agent_keys, browser_sessions TO keybearer_app;
-- They go with their ticket.
GRANT SELECT, INSERT, UPDATE ON ticket_mismatches TO keybearer_app;
GRANT SELECT, INSERT, UPDATE ON service_keys TO keybearer_app;
GRANT USAGE ON SEQUENCE server_revisions, credential_versions TO keybearer_app;
-- To see whether the database is as new as the program.
GRANT SELECT ON pgmigrations TO keybearer_app;
-- Where functions are not everybody's by default: the triggers call this one as whoever made the change.
GRANT EXECUTE ON FUNCTION notify_keybearer(text, text, text, text) TO keybearer_app;
