-- Every change of shared state is told to all nodes, in the shape of `Change` (src/shared/changes.ts),
-- whoever made it. A notice says where to look, never what is there.

CREATE FUNCTION notify_keybearer(kind text, tenant text, server text, owner text) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  notice text := json_strip_nulls(json_build_object('kind', kind, 'tenantId', tenant, 'serverId', server, 'owner', owner))::text;
BEGIN
  -- pg_notify fails from 8000 bytes on, and with it the change itself.
  IF octet_length(notice) >= 8000 THEN
    notice := '{"kind":"resync"}';
  END IF;
  PERFORM pg_notify('keybearer', notice);
END $$;

-- In the functions below a row that moves to another key is told under both; equal notices of one
-- transaction are sent once.

CREATE FUNCTION notify_tenant_change() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    PERFORM notify_keybearer(TG_TABLE_NAME, OLD.id, NULL, NULL);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    PERFORM notify_keybearer(TG_TABLE_NAME, NEW.id, NULL, NULL);
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION notify_identity_change() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    PERFORM notify_keybearer(TG_TABLE_NAME, OLD.tenant_id, NULL, NULL);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    PERFORM notify_keybearer(TG_TABLE_NAME, NEW.tenant_id, NULL, NULL);
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION notify_server_change() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  -- Tenant and id never change, so one notice names both sides of an update.
  IF TG_OP = 'DELETE' THEN
    PERFORM notify_keybearer(TG_TABLE_NAME, OLD.tenant_id, OLD.id::text, NULL);
  ELSE
    PERFORM notify_keybearer(TG_TABLE_NAME, NEW.tenant_id, NEW.id::text, NULL);
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION notify_owned_change() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    PERFORM notify_keybearer(TG_TABLE_NAME, OLD.tenant_id, OLD.server_id, OLD.owner);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    PERFORM notify_keybearer(TG_TABLE_NAME, NEW.tenant_id, NEW.server_id, NEW.owner);
  END IF;
  RETURN NULL;
END $$;

-- Updates have their own triggers, so that one which changes nothing tells nobody.

CREATE TRIGGER tenants_notify AFTER INSERT OR DELETE ON tenants
  FOR EACH ROW EXECUTE FUNCTION notify_tenant_change();
CREATE TRIGGER tenants_notify_update AFTER UPDATE ON tenants
  FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION notify_tenant_change();

CREATE TRIGGER issuers_notify AFTER INSERT OR DELETE ON issuers
  FOR EACH ROW EXECUTE FUNCTION notify_identity_change();
CREATE TRIGGER issuers_notify_update AFTER UPDATE ON issuers
  FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION notify_identity_change();

CREATE TRIGGER agent_keys_notify AFTER INSERT OR DELETE ON agent_keys
  FOR EACH ROW EXECUTE FUNCTION notify_identity_change();
CREATE TRIGGER agent_keys_notify_update AFTER UPDATE ON agent_keys
  FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION notify_identity_change();

CREATE TRIGGER servers_notify AFTER INSERT OR DELETE ON servers
  FOR EACH ROW EXECUTE FUNCTION notify_server_change();
CREATE TRIGGER servers_notify_update AFTER UPDATE ON servers
  FOR EACH ROW WHEN (OLD.revision IS DISTINCT FROM NEW.revision) EXECUTE FUNCTION notify_server_change();

-- The same list found again is no change: otherwise nodes would wake each other for ever.
CREATE TRIGGER catalogs_notify AFTER INSERT OR DELETE ON catalogs
  FOR EACH ROW EXECUTE FUNCTION notify_owned_change();
CREATE TRIGGER catalogs_notify_update AFTER UPDATE ON catalogs
  FOR EACH ROW
  WHEN ((OLD.tenant_id, OLD.server_id, OLD.owner, OLD.tools, OLD.binding)
    IS DISTINCT FROM (NEW.tenant_id, NEW.server_id, NEW.owner, NEW.tools, NEW.binding))
  EXECUTE FUNCTION notify_owned_change();

CREATE TRIGGER credentials_notify AFTER INSERT OR DELETE ON credentials
  FOR EACH ROW EXECUTE FUNCTION notify_owned_change();
CREATE TRIGGER credentials_notify_update AFTER UPDATE ON credentials
  FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION notify_owned_change();
