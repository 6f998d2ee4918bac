// SPDX-License-Identifier: Apache-2.0
/** The example as two processes: one leads and labels, the other, a bundle, follows when the first is asked to end. */
import { join } from 'node:path';
import { configMaps, type KubeObject, leases } from '@csi-sidecars/runtime';
import { freePort } from '@csi-sidecars/runtime/testing';
import { eventually } from '../eventually.ts';
import { type ChildProcess, logTail } from '../processes/child-process.ts';
import { bundle } from './bundle.ts';
import { installed, type ProgramChecks } from './installed.ts';

const namespace = 'owners';

export async function checkProgram(checks: ProgramChecks): Promise<void> {
  const { api, patience, project, check } = checks;
  const run = await installed(checks, project.example, { namespace, name: 'owner-labels' });
  const start = async (name: string, file: string, port: number): Promise<ChildProcess> =>
    await run(name, file, { LISTEN: `127.0.0.1:${port}` });
  const labelled = (name: string): Promise<unknown> =>
    eventually(patience, {
      what: `the label of ConfigMap ${name}`,
      check: async () => (await api.get(configMaps, { namespace, name })).metadata?.labels?.['owner'] === 'ada',
    });
  const holder = async (): Promise<string | undefined> =>
    (await api.get(leases, { namespace, name: 'owner-labels' })).spec?.holderIdentity;

  const ports = [await freePort(), await freePort()] as const;
  await api.create(configMaps, aConfigMap('before'));
  const watching = await run('watch', join(project.folder, 'watch.ts'), {});
  await eventually(patience, {
    what: 'the informer has synced, so that it sees what changes from now on',
    check: () => logTail(watching.spec, 100).includes('added owners/before'),
  });
  const first = await start('first', project.example, ports[0]);
  try {
    await check('a ConfigMap from before its start is labelled', () => labelled('before'));
    await check('a ConfigMap from after its start is labelled', async () => {
      await api.create(configMaps, aConfigMap('after'));
      await labelled('after');
    });
    await check('its metrics and its health are served', async () => {
      const text = async (path: string) => await (await fetch(`http://127.0.0.1:${ports[0]}${path}`)).text();
      const metrics = await text('/metrics');
      return [
        ...((await text('/healthz')) === 'ok' ? [] : ['/healthz']),
        ...['workqueue_adds_total{name="owner-labels"}', 'leader_election_master_status{name="owner-labels"} 1']
          .filter((line) => !metrics.includes(line))
          .map((line) => `no ${line}`),
      ];
    });
    await check('the informer without a controller prints what has happened to ConfigMaps', async () => {
      const wanted = ['added owners/before', 'added owners/after', 'changed owners/after'];
      await eventually(patience, {
        what: wanted.join(', '),
        check: () => wanted.every((line) => logTail(watching.spec, 100).includes(line)),
      });
    });
    const { path } = await bundle({ ...project, entry: 'owner-labels.ts', external: ['@kubernetes/client-node'] });
    const second = await start('second', path, ports[1]);
    try {
      await check(
        'a second process, which is a bundle, waits, and leads when the first is asked to end, which exits with 0',
        async () => {
          const before = await holder();
          const { code } = await first.stop(30_000);
          if (code !== 0) throw new Error(`exit code ${code}\n${logTail(first.spec)}`);
          await eventually(patience, {
            what: 'another holder of the lease, before the lease would have expired',
            timeoutMs: 10_000,
            check: async () => {
              const now = await holder();
              return now !== '' && now !== before;
            },
          });
          await api.create(configMaps, aConfigMap('later'));
          await labelled('later');
        },
      );
    } finally {
      await second.stop();
    }
  } finally {
    await first.stop();
    await watching.stop();
  }
}

function aConfigMap(name: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, annotations: { 'example.com/owner': 'ada' } },
  };
}
