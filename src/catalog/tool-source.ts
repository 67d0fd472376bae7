// Port: asks a server for its tools. Filled by proxy/discover-tools.ts.
import type { PrincipalId } from '../shared/id.ts';
import type { UpstreamServer } from './upstream-server.ts';

/**
 * All pages of the server's tools, each as JSON text. `principalId` names whose credential to use where it is a
 * person's own. Errors: any ProxyError; `sign_in_required` when there is no credential to ask with.
 */
export type ToolSource = (
  server: UpstreamServer,
  principalId: PrincipalId | undefined,
  signal: AbortSignal,
) => Promise<readonly string[]>;
