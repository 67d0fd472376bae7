// Whether a call needs a person's approval first. Asking for it is not built yet, so a gated tool cannot
// be called: what an admin wanted to be asked about is never simply run.
import { compileGlobs } from '../catalog/glob.ts';
import type { Tool } from '../catalog/tool.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { ProxyError } from '../shared/errors.ts';

/** Hints are the server's own word; a missing one counts as the worse case (2025-11-25 §server/tools, annotations). */
export function isGated(server: UpstreamServer, tool: Tool): boolean {
  const { gated } = server;
  if (gated === undefined || typeof gated === 'boolean') return gated === true;
  if (typeof gated !== 'string') return compileGlobs(gated)(tool.name);
  const { isReadOnly, isDestructive } = tool.hints;
  return gated === 'not-read-only' ? isReadOnly !== true : isReadOnly !== true && isDestructive !== false;
}

/** Throws `approval_required` for a gated tool. */
export function requireOpen(server: UpstreamServer, tool: Tool): void {
  if (!isGated(server, tool)) return;
  throw new ProxyError(
    'approval_required',
    `${server.name} asks for a person's approval of this tool, which cannot be given here yet.`,
  );
}
