// The part of the parts list that answers agents' methods: tools, and what servers offer beside them.
import { createItemMethods } from './agent/item-methods.ts';
import { createMethods, type Methods } from './agent/methods.ts';
import type { Catalog } from './catalog/catalog.ts';
import { type CallToolDeps, createCallTool } from './proxy/call-tool.ts';
import { createForward } from './proxy/forward.ts';
import { createItemOperations } from './proxy/item-operations.ts';
import { createOfferItems, type OfferedItemsDeps } from './proxy/offered-items.ts';
import { createServerItems } from './proxy/server-items.ts';
import type { WithUpstream } from './proxy/with-upstream.ts';
import { createShaper } from './result/shape.ts';
import type { Implementation } from './wire/envelope.ts';

export interface MethodParts extends Omit<CallToolDeps, 'shaper'>, Omit<OfferedItemsDeps, 'itemsOf'> {
  readonly catalog: Catalog;
  /** Asks nobody to sign in. */
  readonly discovering: WithUpstream;
  readonly self: Implementation;
}

export function createAgentMethods({ discovering, self, ...parts }: MethodParts): Methods {
  const deps = { ...parts, shaper: createShaper(self) };
  const itemsOf = createServerItems({ withUpstream: discovering, clock: deps.clock });
  const offerItems = createOfferItems({ ...deps, itemsOf });
  const forward = createForward(deps);
  const forwardQuietly = createForward({ ...deps, withUpstream: discovering });
  const items = createItemOperations({ ...deps, offerItems, itemsOf, forward, forwardQuietly });
  const tools = { callTool: createCallTool(deps), listTools: deps.catalog.view };
  return createMethods(tools, self, createItemMethods(items, self));
}
