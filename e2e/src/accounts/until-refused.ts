// SPDX-License-Identifier: Apache-2.0
/** A token that has become worthless: the API server caches its validity for some seconds. */
import type { ScenarioContext } from '../scenarios/context.ts';
import { directTransport } from '../suite-client/direct-transport.ts';

export async function untilRefused(ctx: ScenarioContext, token: string): Promise<void> {
  const { server, caFile } = ctx.testRun.controlPlane;
  using direct = directTransport({ server, caFile });
  await ctx.eventually('the old token is refused', async () => {
    const { status, body } = await direct.transport({
      method: 'GET',
      path: '/version',
      headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
      signal: ctx.signal,
    });
    await Array.fromAsync(body);
    return status === 401;
  });
}
