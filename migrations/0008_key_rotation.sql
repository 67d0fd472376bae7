-- Rotation of data keys: old ones stay until nothing is sealed by them, rows are sealed anew without anybody noticing.

-- When a key that is not current any more was first found to seal nothing.
ALTER TABLE data_keys ADD COLUMN unused_since timestamptz;

-- What is sealed begins with its version and the id of its key.
CREATE INDEX credentials_by_key ON credentials (tenant_id, substring(sealed FROM 1 FOR 17));
CREATE INDEX oauth_clients_by_key ON oauth_clients (tenant_id, substring(sealed FROM 1 FOR 17));
CREATE INDEX sign_in_attempts_by_key ON sign_in_attempts (tenant_id, substring(sealed FROM 1 FOR 17));

-- The same credential sealed anew keeps its version: that is no change, and nobody has to connect again.
DROP TRIGGER credentials_notify_update ON credentials;
CREATE TRIGGER credentials_notify_update AFTER UPDATE ON credentials
  FOR EACH ROW
  WHEN ((OLD.tenant_id, OLD.server_id, OLD.owner, OLD.kind, OLD.version, OLD.binding, OLD.details)
    IS DISTINCT FROM (NEW.tenant_id, NEW.server_id, NEW.owner, NEW.kind, NEW.version, NEW.binding, NEW.details))
  EXECUTE FUNCTION notify_owned_change();

-- Who seals the secrets of a definition anew says so by setting this, and the revision stays.
ALTER TABLE servers ADD COLUMN resealed_at timestamptz;

CREATE OR REPLACE FUNCTION revise_server() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND (NEW.tenant_id, NEW.id) IS DISTINCT FROM (OLD.tenant_id, OLD.id) THEN
    -- Tool lists and credentials are found by both; moving a server would hand them over.
    RAISE EXCEPTION 'the tenant and the id of a server never change; remove it and register it again'
      USING ERRCODE = 'restrict_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND (NEW.name, NEW.enabled) IS NOT DISTINCT FROM (OLD.name, OLD.enabled)
    AND (NEW.definition IS NOT DISTINCT FROM OLD.definition OR NEW.resealed_at IS DISTINCT FROM OLD.resealed_at) THEN
    NEW.revision := OLD.revision;
    NEW.updated_at := OLD.updated_at;
    RETURN NEW;
  END IF;
  NEW.revision := nextval('server_revisions');
  NEW.updated_at := now();
  RETURN NEW;
END $$;

-- What a deleted key had sealed can be opened by nobody, so it goes with it, whoever deletes the row: people are
-- asked to sign in again. Definitions stay and say that their secrets are lost.
CREATE FUNCTION forget_data_key() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  sealed_by bytea[];
BEGIN
  IF OLD.id ~ '^[0-9a-f]{32}$' THEN
    sealed_by := ARRAY['\x01'::bytea || decode(OLD.id, 'hex'), '\x02'::bytea || decode(OLD.id, 'hex')];
    DELETE FROM credentials WHERE tenant_id = OLD.tenant_id AND substring(sealed FROM 1 FOR 17) = ANY (sealed_by);
    DELETE FROM oauth_clients WHERE tenant_id = OLD.tenant_id AND substring(sealed FROM 1 FOR 17) = ANY (sealed_by);
    DELETE FROM sign_in_attempts WHERE tenant_id = OLD.tenant_id AND substring(sealed FROM 1 FOR 17) = ANY (sealed_by);
  END IF;
  PERFORM notify_keybearer('data_keys', OLD.tenant_id, NULL, NULL);
  RETURN NULL;
END $$;
CREATE TRIGGER data_keys_forget AFTER DELETE ON data_keys
  FOR EACH ROW EXECUTE FUNCTION forget_data_key();
