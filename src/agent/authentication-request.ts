// What of an HTTP request says who asks.
import type { IncomingMessage } from 'node:http';
import type { AuthenticationRequest } from '../identity/authenticate.ts';
import type { ClientAddress } from '../limits/client-address.ts';
import { authorizationOf } from './authorization-header.ts';
import { principalHeaderOf } from './principal-header.ts';
import type { McpRoute } from './route.ts';

export function toAuthenticationRequest(
  request: IncomingMessage,
  route: McpRoute,
  clients: Pick<ClientAddress, 'of'>,
): AuthenticationRequest {
  return {
    authorization: authorizationOf(request),
    principalHeader: principalHeaderOf(request),
    pathTenant: route.tenant,
    address: () => clients.of(request),
  };
}
