// SPDX-License-Identifier: Apache-2.0
/** The built programs under flood.ts, beside a driver and a simulated API server in this process. One budget for all of them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { serveCsi } from '@csi-sidecars/csi/testing';
import { installSnapshotApi, startSimControlPlane } from '@csi-sidecars/e2e';
import { createApiClient, silentLogger, systemClock } from '@csi-sidecars/runtime';
import { createTestAuthority, freePort } from '@csi-sidecars/runtime/testing';
import { attacksOn, flood, type Flooded, pause } from './flood.ts';

const mostProbes = 1;
/** Another process of the machine may take the cores for a while. */
const attempts = 3;
const probeMs = 20;
/** Times in which a lease that is not renewed is lost before the flood is over. */
const lease = ['lease-duration=3s', 'renew-deadline=2s', 'retry-period=500ms'].map(
  (flag) => `--leader-election-${flag}`,
);

/** Undefined: it holds. */
type Report = (title: string, found: string | undefined) => void;
/** A flood needs a quarter of a core. */
const lanes = 2;

/** Reports one line for each program and attack. */
export async function floodPrograms(bin: string, report: Report): Promise<void> {
  const turn = { next: 0 };
  await Promise.all(Array.from({ length: lanes }, () => floodInTurn(bin, turn, report)));
}

/** The next program that no other lane has taken, until there is none. Each lane has a driver, an API server and ports of its own. */
async function floodInTurn(bin: string, turn: { next: number }, report: Report): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'csi-flood-'));
  let [underWay, most] = [0, 0];
  await using driver = await serveCsi({
    '/csi.v1.Identity/GetPluginInfo': () => ({ name: 'flood.example.com', vendor_version: '1' }),
    '/csi.v1.Identity/GetPluginCapabilities': () => ({
      capabilities: [{ service: { type: 'CONTROLLER_SERVICE' } }, { service: { type: 'SNAPSHOT_METADATA_SERVICE' } }],
    }),
    '/csi.v1.Controller/ControllerGetCapabilities': () => ({
      capabilities: ['CREATE_DELETE_VOLUME', 'PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME', 'CREATE_DELETE_SNAPSHOT'].map(
        (type) => ({ rpc: { type } }) as never,
      ),
    }),
    '/csi.v1.Identity/Probe': async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await pause(probeMs);
      underWay -= 1;
      return { ready: { value: true } };
    },
  });
  try {
    await using controlPlane = await startSimControlPlane({ clock: systemClock(), folder });
    await withSnapshotApi(controlPlane.admin);
    const table = await tableOf({ bin, folder, socket: driver.path, kubeconfig: controlPlane.adminKubeconfig });
    while (turn.next < table.length) {
      const [title, flooded] = table[turn.next++]!;
      for (const attack of attacksOn(flooded)) {
        let found: string | undefined;
        for (let attempt = 0; attempt < attempts; attempt += 1) {
          most = 0;
          found = await flood(flooded, attack).then(
            ({ slowestMs, grownMib }) => {
              const is = { slowestMs, grownMib, probes: most };
              const isWithin = slowestMs <= attack.slowestMs && grownMib <= attack.grownMib && most <= mostProbes;
              return isWithin ? undefined : JSON.stringify(is);
            },
            (error: Error) => error.message,
          );
          if (found === undefined) break;
        }
        report(`${title} serves others while ${attack.text}`, found);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function withSnapshotApi(transport: Parameters<typeof createApiClient>[0]['transport']): Promise<void> {
  const clock = systemClock();
  const api = createApiClient({ transport, clock, logger: silentLogger }, { userAgent: 'flood', qps: -1, burst: 0 });
  await installSnapshotApi(api, { pass: pause });
}

interface Place {
  readonly bin: string;
  readonly folder: string;
  readonly socket: string;
  readonly kubeconfig: string;
}

async function tableOf({ bin, folder, socket, kubeconfig }: Place): Promise<readonly (readonly [string, Flooded])[]> {
  const port = await freePort();
  const env = {
    PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
    POD_NAMESPACE: 'default',
  };
  const endpoint = `--http-endpoint=127.0.0.1:${port}`;
  const csi = `--csi-address=${socket}`;
  const served = (command: readonly string[], health: string, path: string): Flooded => ({
    command: [join(bin, command[0]!), ...command.slice(1)],
    env,
    port,
    scheme: 'http',
    health,
    path,
  });
  const leader = (...command: readonly string[]): Flooded =>
    served(
      [...command, `--kubeconfig=${kubeconfig}`, '--leader-election', ...lease, endpoint],
      '/healthz/leader-election',
      '/metrics',
    );
  const registration = join(folder, 'registration');
  mkdirSync(registration);
  const registrar = ['--kubelet-registration-path=/p/csi.sock', `--plugin-registration-path=${registration}`];
  const pair = createTestAuthority().issue({ commonName: 'flood', hosts: ['localhost'] });
  writeFileSync(join(folder, 'tls.crt'), pair.cert);
  writeFileSync(join(folder, 'tls.key'), pair.key);
  const tls = [`--tls-cert-file=${join(folder, 'tls.crt')}`, `--tls-private-key-file=${join(folder, 'tls.key')}`];
  const other = await freePort();
  const grpcPort = await freePort();
  const pairFlags = [`--tls-cert=${join(folder, 'tls.crt')}`, `--tls-key=${join(folder, 'tls.key')}`];
  const metadata = ['csi-snapshot-metadata', csi, endpoint, `--kubeconfig=${kubeconfig}`, `--port=${grpcPort}`];
  return [
    ['csi-provisioner', leader('csi-provisioner', csi)],
    ['csi-attacher', leader('csi-attacher', csi)],
    ['csi-resizer', leader('csi-resizer', csi)],
    ['csi-snapshotter', leader('csi-snapshotter', csi)],
    ['snapshot-controller', leader('snapshot-controller')],
    ['volume-data-source-validator', leader('volume-data-source-validator')],
    ['csi-sidecars all', leader('csi-sidecars', '--controllers=attacher,provisioner,resizer,snapshotter', csi)],
    ['csi-snapshot-metadata', { ...served([...metadata, ...pairFlags], '/health', '/metrics'), grpcPort }],
    ['livenessprobe', served(['livenessprobe', csi, endpoint], '/healthz', '/healthz')],
    [
      'csi-node-driver-registrar',
      served(['csi-node-driver-registrar', csi, endpoint, ...registrar], '/healthz', '/healthz'),
    ],
    [
      'csi-sidecars node, livenessprobe',
      served(
        [
          'csi-sidecars',
          'node',
          csi,
          ...registrar,
          `--livenessprobe-http-endpoint=127.0.0.1:${port}`,
          `--registrar-http-endpoint=127.0.0.1:${other}`,
        ],
        '/healthz',
        '/healthz',
      ),
    ],
    [
      'csi-sidecars node, registrar',
      served(
        [
          'csi-sidecars',
          'node',
          csi,
          ...registrar,
          `--registrar-http-endpoint=127.0.0.1:${port}`,
          `--livenessprobe-http-endpoint=127.0.0.1:${other}`,
        ],
        '/healthz',
        '/healthz',
      ),
    ],
    [
      'snapshot-conversion-webhook',
      { ...served(['snapshot-conversion-webhook', ...tls, `--port=${port}`], '/readyz', '/readyz'), scheme: 'https' },
    ],
  ];
}
