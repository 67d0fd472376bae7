// Where a real oidc-provider of these tests keeps everything: maps that belong to this one server.
import type { Adapter, AdapterPayload } from 'oidc-provider';

export class OidcStorage {
  readonly #all = new Map<string, AdapterPayload>();

  /** Of one kind of thing, as oidc-provider asks for it. Nothing here ends by time; the provider checks that itself. */
  readonly adapter = (kind: string): Adapter => {
    const all = this.#all;
    const key = (id: string): string => `${kind} ${id}`;
    const findBy = async (member: 'uid' | 'userCode', value: string): Promise<AdapterPayload | undefined> =>
      [...all].find(([name, payload]) => name.startsWith(`${kind} `) && payload[member] === value)?.[1];
    return {
      upsert: async (id, payload) => void all.set(key(id), payload),
      find: async (id) => all.get(key(id)),
      findByUid: (uid) => findBy('uid', uid),
      findByUserCode: (userCode) => findBy('userCode', userCode),
      consume: async (id) => {
        const payload = all.get(key(id));
        if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000);
      },
      destroy: async (id) => void all.delete(key(id)),
      revokeByGrantId: async (grantId) => this.#forget((_, payload) => payload.grantId === grantId),
    };
  };

  /** Everything that was ever given to anybody: grants and their tokens. */
  revokeAll(): void {
    this.#forget((name, payload) => payload.grantId !== undefined || name.startsWith('Grant '));
  }

  #forget(isGone: (name: string, payload: AdapterPayload) => boolean): void {
    for (const [name, payload] of this.#all) if (isGone(name, payload)) this.#all.delete(name);
  }
}
