import { it } from 'vitest';
import { useScene, withKeys } from '../support/scene.ts';
const scene = useScene();
it('x', async () => {
    const upstream = await scene.keyed('legacy');
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    const bytes = (text: string) => Buffer.from(text).toString('latin1');
    for (const n of ['zoë', 'a, x', '漢'] ) {
    await tenant.setSecret('s', n, 'key-ada');
    const a = await tenant.raw('rawLegacy', bytes(n));
    console.log(n, (await a.callTool('s__whoami'))['structuredContent']);
    }
    console.log(await scene.app.sql('SELECT owner FROM credentials'), await scene.app.sql('SELECT principal_id FROM tickets'));
});
