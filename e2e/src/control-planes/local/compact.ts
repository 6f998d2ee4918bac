// SPDX-License-Identifier: Apache-2.0
/** Drops all revisions but the newest from etcd, over its JSON gateway: a watch from an older revision then ends in 410. */
import { host, type Layout } from './layout.ts';
import { request } from '../../suite-client/request.ts';

export async function compact({ ports }: Layout): Promise<void> {
  const call = async (path: string, body: object): Promise<unknown> => {
    const { status, text } = await request({ method: 'POST', url: `http://${host}:${ports.etcd}/v3/kv/${path}`, body });
    if (status !== 200) throw new Error(`etcd ${path}: ${status} ${text}`);
    return JSON.parse(text);
  };
  // Any read returns the current revision.
  const key = Buffer.from('/').toString('base64');
  const { header } = (await call('range', { key, limit: '1' })) as { readonly header: { readonly revision: string } };
  await call('compaction', { revision: header.revision, physical: true });
}
