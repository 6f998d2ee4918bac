// SPDX-License-Identifier: Apache-2.0
/**
 * The conversion webhook as the chart installs it. No kubelet runs here, so that the test does two things in its place: it starts the program
 * with the Secret's files in a folder that changes as a mounted Secret does, and it lets the Service lead to it.
 */
import { mkdirSync, mkdtempSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from 'node:tls';
import { systemClock } from '@csi-sidecars/runtime';
import { createTestAuthority, freePort } from '@csi-sidecars/runtime/testing';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { findProgram } from '../processes/program.ts';
import { supervise } from '../processes/supervised-process.ts';
import { type ApiObject, apply, get, helm, kubectl, tryKubectl } from './commands.ts';
import { chartFolder } from './chart-copy.ts';
import { createNamespace, emptyCluster, untilEstablished } from './releases.ts';
import { storedObjects } from './stored-objects.ts';

const chart = chartFolder('snapshot-controller');
const definition = 'volumegroupsnapshotcontents.groupsnapshot.storage.k8s.io';

let stack = new AsyncDisposableStack();
afterEach(async () => {
  // Without its webhook the API server could not delete the contents.
  await tryKubectl([
    'patch',
    'customresourcedefinition',
    definition,
    '--type=json',
    '--patch=[{"op":"remove","path":"/spec/conversion"}]',
  ]);
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
  await emptyCluster();
});

/** A folder like that of a mounted Secret: its files are links into a folder that is replaced as a whole. */
function mountSecret(): { readonly folder: string; readonly write: (secret: ApiObject) => void } {
  const folder = mkdtempSync(join(inject('cluster').scratch, 'certificate-'));
  let generation = 0;
  for (const file of ['tls.crt', 'tls.key']) symlinkSync(join('..data', file), join(folder, file));
  return {
    folder,
    write: ({ data }) => {
      generation += 1;
      const target = `..${generation}`;
      mkdirSync(join(folder, target));
      for (const file of ['tls.crt', 'tls.key']) {
        writeFileSync(join(folder, target, file), Buffer.from((data as Record<string, string>)[file] ?? '', 'base64'));
      }
      symlinkSync(target, join(folder, '..data_tmp'));
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    },
  };
}

async function serve(namespace: string, port: number): Promise<ReturnType<typeof mountSecret>> {
  const { spec } = await get('deployment', 'snapshots-snapshot-controller-webhook', namespace);
  const [container] = spec.template.spec.containers as { args: string[]; volumeMounts: { mountPath: string }[] }[];
  const { secretName } = spec.template.spec.volumes[0].secret as { secretName: string };
  const mount = mountSecret();
  mount.write(await get('secret', secretName, namespace));
  const { command, args } = findProgram('snapshot-conversion-webhook', process.env);
  const mountPath = container?.volumeMounts[0]?.mountPath ?? '';
  const ofPod = (container?.args ?? []).map((arg) =>
    arg.replace(mountPath, mount.folder).replace('--port=8443', `--port=${port}`),
  );
  const logFile = join(mount.folder, 'webhook.log');
  const env = { PATH: process.env['PATH'] };
  stack.use(await supervise({ name: 'webhook', command, args: [...args, ...ofPod], env, logFile }, systemClock()));
  // In place of kube-proxy: the API server connects to localhost, and verifies the name of the Service.
  const service = { spec: { type: 'ExternalName', externalName: 'localhost', clusterIP: null, clusterIPs: null } };
  await kubectl([
    'patch',
    'service',
    'snapshots-snapshot-controller-webhook',
    `--namespace=${namespace}`,
    `--patch=${JSON.stringify(service)}`,
  ]);
  return mount;
}

const readAsV1beta1 = (): ReturnType<typeof tryKubectl> =>
  tryKubectl(['get', 'volumegroupsnapshotcontents.v1beta1.groupsnapshot.storage.k8s.io', 'kept', '--output=json']);

async function untilConverted(): Promise<void> {
  for (let poll = 0; poll < 100; poll += 1) {
    const { code, stdout } = await readAsV1beta1();
    if (code === 0 && stdout.includes('volumeSnapshotHandlePairList')) return;
    await pause(200);
  }
  throw new Error(`not converted within 20 s: ${(await readAsV1beta1()).stderr}`);
}

async function storeContent(): Promise<void> {
  const content = storedObjects('v1').find(({ kind }) => kind === 'VolumeGroupSnapshotContent')!;
  await apply(content);
  const status = { volumeSnapshotInfoList: [{ volumeHandle: 'v1', snapshotHandle: 's1', readyToUse: true }] };
  await kubectl([
    'patch',
    definition,
    'kept',
    '--subresource=status',
    '--type=merge',
    `--patch=${JSON.stringify({ status })}`,
  ]);
}

describe('the conversion webhook of the chart', () => {
  it('given a certificate that the chart made, when the release is upgraded, then it is the same, and the API server converts through it', async () => {
    const namespace = await createNamespace('restricted');
    const port = await freePort();
    const values = [
      `--namespace=${namespace}`,
      `--set=image.registry=registry.example.com,webhook.enabled=true,webhook.servicePort=${port}`,
    ];
    await helm(['install', 'snapshots', chart, `--namespace=${namespace}`]);
    await untilEstablished();
    await storeContent();
    await helm(['upgrade', 'snapshots', chart, ...values]);
    const secret = await get('secret', 'snapshots-snapshot-controller-webhook-tls', namespace);
    const { conversion } = (await get('customresourcedefinition', definition))['spec'];
    expect(conversion.webhook.clientConfig.caBundle).toBe(secret['data']['ca.crt']);

    await helm(['upgrade', 'snapshots', chart, ...values, '--set=webhook.logLevel=4']);
    expect((await get('secret', 'snapshots-snapshot-controller-webhook-tls', namespace))['data']).toEqual(
      secret['data'],
    );
    await serve(namespace, port);
    await untilConverted();

    // And back: nothing that is stored has to change.
    await helm(['upgrade', 'snapshots', chart, `--namespace=${namespace}`, '--reset-values']);
    expect((await get('customresourcedefinition', definition))['spec'].conversion).toEqual({ strategy: 'None' });
    const content = JSON.parse(await kubectl(['get', definition, 'kept', '--output=json'])) as ApiObject;
    expect(content['status'].volumeSnapshotInfoList).toEqual([
      { volumeHandle: 'v1', snapshotHandle: 's1', readyToUse: true },
    ]);
  });

  it('given a Secret that is replaced, when the webhook serves, then no request fails', async () => {
    const namespace = await createNamespace('restricted');
    const port = await freePort();
    const authority = createTestAuthority();
    const host = `snapshots-snapshot-controller-webhook.${namespace}.svc`;
    const secret = (): ApiObject => {
      const { cert, key } = authority.issue({ commonName: host, hosts: [host] });
      const base64 = (text: string): string => Buffer.from(text).toString('base64');
      return {
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'kubernetes.io/tls',
        metadata: { name: 'pair', namespace },
        data: { 'tls.crt': base64(cert), 'tls.key': base64(key) },
      };
    };
    await apply(secret());
    const webhook = {
      enabled: true,
      servicePort: port,
      certificate: { mode: 'existingSecret', existingSecret: 'pair', caBundle: authority.ca },
    };
    await helm(['install', 'snapshots', chart, `--namespace=${namespace}`]);
    await untilEstablished();
    await storeContent();
    await helm(['upgrade', 'snapshots', chart, `--namespace=${namespace}`, '--values=-'], {
      input: JSON.stringify({ image: { registry: 'registry.example.com' }, webhook }),
    });
    const mount = await serve(namespace, port);
    await untilConverted();

    const answers: Awaited<ReturnType<typeof readAsV1beta1>>[] = [];
    const rotated = new AbortController();
    const reading = (async () => {
      while (!rotated.signal.aborted) answers.push(await readAsV1beta1());
    })();
    const served = new Set<string>();
    try {
      for (let rotation = 0; rotation < 4; rotation += 1) {
        const replaced = secret();
        await apply(replaced);
        mount.write(replaced);
        const wanted = answers.length + 5;
        do {
          await pause(1_000);
        } while (answers.length < wanted);
        served.add(await certificateAt(port));
      }
    } finally {
      rotated.abort();
    }
    await reading;
    expect(answers.filter(({ code }) => code !== 0)).toEqual([]);
    expect(served.size).toBe(4);
  });
});

/** The certificate that a new connection meets. */
async function certificateAt(port: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
    resolve(socket.getPeerCertificate().fingerprint256);
    socket.destroy();
  });
  socket.once('error', reject);
  return promise;
}
