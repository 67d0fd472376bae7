// What a server lists, and in which words (2025-11-25 and 2026-07-28 §server/tools, §server/prompts, §server/resources).

export interface Listing {
  readonly method: string;
  /** Of the result, where the list stands. */
  readonly member: string;
  /** Without it a server is not asked. */
  readonly capability: 'tools' | 'prompts' | 'resources';
  /** For people: all of them, and one. */
  readonly many: string;
  readonly one: string;
}

export const TOOLS: Listing = {
  method: 'tools/list',
  member: 'tools',
  capability: 'tools',
  many: 'tools',
  one: 'tool',
};

export type ItemKind = 'prompts' | 'resources' | 'templates';

export interface ItemListing extends Listing {
  readonly capability: 'prompts' | 'resources';
  /** The member by which an item is known. */
  readonly key: 'name' | 'uri' | 'uriTemplate';
}

export const ITEMS: Readonly<Record<ItemKind, ItemListing>> = {
  prompts: {
    method: 'prompts/list',
    member: 'prompts',
    capability: 'prompts',
    key: 'name',
    many: 'prompts',
    one: 'prompt',
  },
  resources: {
    method: 'resources/list',
    member: 'resources',
    capability: 'resources',
    key: 'uri',
    many: 'resources',
    one: 'resource',
  },
  templates: {
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    capability: 'resources',
    key: 'uriTemplate',
    many: 'resource templates',
    one: 'resource template',
  },
};
