// SPDX-License-Identifier: Apache-2.0
/** A mutating webhook, and more requests of a real API server than it serves at once. */
import { join } from 'node:path';
import { type ConfigMap, configMaps, controllerManifests, silentLogger } from '@csi-sidecars/runtime';
import { changed, defineWebhooks, mutatingWebhook } from '@csi-sidecars/runtime/webhook';
import { eventually } from '../eventually.ts';
import { callAt, certificateAt } from './called-webhook.ts';
import { type ProgramChecks, resourceOf } from './installed.ts';

const [name, namespace, label] = ['sums.example.com', 'default', 'example.com/sum'];

export async function checkMutations({ api, patience, project, check }: ProgramChecks): Promise<void> {
  const { clock } = patience;
  let calls = 0;
  const sums = mutatingWebhook({
    name,
    resource: configMaps,
    operations: ['CREATE'],
    configuration: { objectSelector: { matchLabels: { sum: 'wanted' } } },
    mutate: async ({ object }, { signal }) => {
      calls += 1;
      await clock.sleep(200, signal);
      const sum = String(Number(object.data?.['a']) + Number(object.data?.['b']));
      const labels = { ...object.metadata?.labels, [label]: sum };
      return changed({ ...object, metadata: { ...object.metadata, labels }, data: { b: 'used' } });
    },
  });
  const certificate = await certificateAt(join(project.folder, 'sums-certificates'));
  const { folder: certificates, address: listen } = certificate;
  const webhooks = defineWebhooks({ webhooks: [sums], listen, certificates, limits: { reviews: 1 } });
  await using _ = await webhooks.serve({ clock, logger: silentLogger });
  const manifests = controllerManifests({ name: 'sums', loops: [], webhooks }, { image: 'none', namespace });
  const configuration = manifests.at(-1) ?? {};
  await api.create(resourceOf(configuration), configuration);
  await callAt(api, { kind: 'MutatingWebhookConfiguration', name: 'sums' }, { ...certificate, path: `/${name}` });

  const create = async (map: string): Promise<ConfigMap> => {
    const metadata = { namespace, name: map, labels: { sum: 'wanted' } };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: '2', b: '3' } };
    return await api.create(configMaps, object);
  };
  const isChanged = ({ metadata, data }: ConfigMap): boolean =>
    metadata?.labels?.[label] === '5' && JSON.stringify(data) === '{"b":"used"}';

  await check('an object is stored as a mutating webhook returns it', async () => {
    let attempts = 0;
    await eventually(patience, {
      what: 'a ConfigMap that the webhook has changed',
      check: async () => isChanged(await create(`sum-${(attempts += 1)}`)),
    });
  });
  await check('of three requests at once for a webhook that serves one, each is served', async () => {
    const before = calls;
    const maps = await Promise.all(['first', 'second', 'third'].map(create));
    return [...(maps.every(isChanged) ? [] : ['not changed']), ...(calls - before === 3 ? [] : [`${calls} calls`])];
  });
  await api.delete(resourceOf(configuration), { name: 'sums' });
}
