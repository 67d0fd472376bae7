// Both SDK lines name the methods beside tools alike; each checks what comes back by schemas of its own.
import type { JsonObject } from '../upstreams/message.ts';
import type { OfferMethod } from './agent.ts';

/** Of either line; neither exports a type for it that the other would fit. */
interface OffersOfSdk {
  listPrompts(params: JsonObject, options?: object): Promise<JsonObject>;
  getPrompt(params: JsonObject): Promise<JsonObject>;
  listResources(params: JsonObject, options?: object): Promise<JsonObject>;
  listResourceTemplates(params: JsonObject, options?: object): Promise<JsonObject>;
  readResource(params: JsonObject, options?: object): Promise<JsonObject>;
  complete(params: JsonObject): Promise<JsonObject>;
}

/** @param options for what a client could answer from its own cache */
export function askSdk(
  client: OffersOfSdk,
  method: OfferMethod,
  params: JsonObject,
  options: object = {},
): Promise<JsonObject> {
  switch (method) {
    case 'prompts/list':
      return client.listPrompts(params, options);
    case 'prompts/get':
      return client.getPrompt(params);
    case 'resources/list':
      return client.listResources(params, options);
    case 'resources/templates/list':
      return client.listResourceTemplates(params, options);
    case 'resources/read':
      return client.readResource(params, options);
    case 'completion/complete':
      return client.complete(params);
  }
}
