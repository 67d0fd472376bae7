// Every route of the admin API, in the order of docs/reference/http-api.md.
import { connectLinkRoutes } from './connect-links.ts';
import { connectionRoutes } from './connections.ts';
import { credentialRoutes } from './credentials.ts';
import { issuerRoutes } from './issuers.ts';
import { keyRoutes } from './keys.ts';
import { keysAtRestRoutes } from './keys-at-rest.ts';
import type { AdminDeps } from './ports.ts';
import type { AdminRoute } from './route.ts';
import { serverRoutes } from './servers.ts';
import { tenantRoutes } from './tenants.ts';

export function adminRoutes(deps: AdminDeps): readonly AdminRoute[] {
  return [
    tenantRoutes,
    issuerRoutes,
    keyRoutes,
    serverRoutes,
    credentialRoutes,
    connectionRoutes,
    connectLinkRoutes,
    keysAtRestRoutes,
  ].flatMap((routesOf) => routesOf(deps));
}
