// SPDX-License-Identifier: Apache-2.0
/** The controller of a custom resource with its webhook, against a real API server and the garbage collector of kube-controller-manager. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiError, configMaps, deployments, isNotFound, type KubeObject, type Resource } from '@csi-sidecars/runtime';
import { load } from 'js-yaml';
import { eventually, usualTimeoutMs } from '../eventually.ts';
import { logTail } from '../processes/child-process.ts';
import { callAt, certificateAt } from './called-webhook.ts';
import { installed, type ProgramChecks, resourceOf } from './installed.ts';

interface Website extends KubeObject {
  readonly spec: { readonly page: string };
  readonly status?: { readonly conditions?: readonly { readonly status: string; readonly message: string }[] };
}

const websites: Resource<Website> = {
  group: 'example.com',
  version: 'v1',
  plural: 'websites',
  kind: 'Website',
  namespaced: true,
};
const namespace = 'sites';
const ref = { namespace, name: 'home' };
const website = { apiVersion: 'example.com/v1', kind: 'Website', metadata: ref, spec: { page: 'hello' } };

export async function checkWebsites(checks: ProgramChecks): Promise<void> {
  const { api, patience, project, check } = checks;
  const definition = load(readFileSync(join(project.installed, 'example', 'websites.crd.yaml'), 'utf8')) as KubeObject;
  await api.create(resourceOf(definition), definition);
  const example = join(project.folder, 'websites.ts');
  const run = await installed(checks, example, { namespace, name: 'websites' });
  const certificate = await certificateAt(join(project.folder, 'websites-certificates'));
  await callAt(
    api,
    { kind: 'ValidatingWebhookConfiguration', name: 'websites' },
    { ...certificate, path: '/pages.websites.example.com' },
  );
  const { address: WEBHOOKS, folder: CERTIFICATES } = certificate;
  const program = await run('websites', example, { LISTEN: '', WEBHOOKS, CERTIFICATES });
  const until = (what: string, test: () => Promise<boolean>, timeoutMs = usualTimeoutMs): Promise<unknown> =>
    eventually(patience, { what, timeoutMs, check: () => test().catch(() => false) });
  try {
    await check('a Website gets a page, a Deployment, a name in the zone, a finalizer, and its condition', async () => {
      await until('the kind is served', async () => (await api.create(websites, website)) !== undefined);
      await until('0 of 1 pods are ready', async () => {
        const [condition] = (await api.get(websites, ref)).status?.conditions ?? [];
        return condition?.status === 'False' && condition.message === '0 of 1 pods are ready';
      });
      const { metadata } = await api.get(websites, ref);
      const owned = [await api.get(configMaps, ref), await api.get(deployments, ref)];
      return [
        ...(metadata?.finalizers?.join() === 'example.com/zone' ? [] : ['the finalizer']),
        ...(owned.every((each) => each.metadata?.ownerReferences?.[0]?.uid === metadata?.uid) ? [] : ['an owner']),
        ...(logTail(program.spec, 100).includes('the zone has home.sites.example.com') ? [] : ['the zone']),
      ];
    });
    await check('a Website whose page has a script is refused by the webhook, with its text and its code', async () => {
      const bad = { ...website, metadata: { namespace, name: 'bad' }, spec: { page: '<script>' } };
      await until('a refusal', async () => {
        const refusal: unknown = await api.create(websites, bad).catch((error: unknown) => error);
        // The API server takes in a configuration a moment later.
        if (!(refusal instanceof ApiError)) await api.delete(websites, bad.metadata);
        const text =
          'admission webhook "pages.websites.example.com" denied the request: spec.page: a page has no scripts';
        return refusal instanceof ApiError && refusal.status === 422 && refusal.message.includes(text);
      });
    });
    await check('a page that is changed, and one that a user spoils, become what the Website says', async () => {
      const write = (data: string) => ({ type: 'merge', body: { data: { 'index.html': data } } }) as const;
      await api.patch({ resource: websites, ref }, { type: 'merge', body: { spec: { page: 'changed' } } });
      const isChanged = async () => (await api.get(configMaps, ref)).data?.['index.html'] === 'changed';
      await until('the page is changed', isChanged);
      await api.patch({ resource: configMaps, ref }, write('spoiled'));
      await until('the page is put back', isChanged);
    });
    await check('a Website that is deleted leaves neither its name in the zone nor what it owned', async () => {
      await api.delete(websites, ref);
      for (const resource of [websites, configMaps, deployments] as readonly Resource[]) {
        const isGone = (): Promise<boolean> => api.get(resource, ref).then(() => false, isNotFound);
        // The garbage collector learns of a kind that is new within 30 s, and deletes what its objects owned after that.
        await until(`no ${resource.kind}`, isGone, 90_000);
      }
      return logTail(program.spec, 100).includes('the zone has no home.sites.example.com') ? [] : ['the zone'];
    });
  } finally {
    await program.stop();
  }
}
