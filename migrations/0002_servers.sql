-- Registered servers and the tool lists found at them. People may write `servers` by hand:
--   INSERT INTO servers (tenant_id, name, definition) VALUES ('acme', 'linear', '{"url": "…"}');

-- One sequence for all, so that a revision is never used twice, not even for a name given again.
CREATE SEQUENCE server_revisions AS bigint;

CREATE TABLE servers (
  tenant_id text COLLATE "C" NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  name text COLLATE "C" NOT NULL,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  definition jsonb NOT NULL,
  enabled boolean NOT NULL DEFAULT true,
  revision bigint NOT NULL DEFAULT nextval('server_revisions'),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, name),
  UNIQUE (tenant_id, id)
);

-- The revision belongs to the trigger: whoever writes the row, it grows with each change that
-- matters and with nothing else.
CREATE FUNCTION revise_server() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND (NEW.tenant_id, NEW.id) IS DISTINCT FROM (OLD.tenant_id, OLD.id) THEN
    -- Tool lists and credentials are found by both; moving a server would hand them over.
    RAISE EXCEPTION 'the tenant and the id of a server never change; remove it and register it again'
      USING ERRCODE = 'restrict_violation';
  END IF;
  IF TG_OP = 'UPDATE'
    AND (NEW.name, NEW.definition, NEW.enabled) IS NOT DISTINCT FROM (OLD.name, OLD.definition, OLD.enabled) THEN
    NEW.revision := OLD.revision;
    NEW.updated_at := OLD.updated_at;
    RETURN NEW;
  END IF;
  NEW.revision := nextval('server_revisions');
  NEW.updated_at := now();
  RETURN NEW;
END $$;
CREATE TRIGGER servers_revise BEFORE INSERT OR UPDATE ON servers
  FOR EACH ROW EXECUTE FUNCTION revise_server();

CREATE TABLE catalogs (
  tenant_id text COLLATE "C" NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  -- No foreign key: servers of the operator's file are not rows.
  server_id text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  -- The upstream's own text; jsonb would reorder keys, round numbers and refuse \u0000.
  tools text NOT NULL,
  binding text NOT NULL,
  found_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, server_id, owner)
);
