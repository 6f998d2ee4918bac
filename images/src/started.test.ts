// SPDX-License-Identifier: Apache-2.0
/**
 * Containers of the images, started by runc as manifests of the field start them: other users, a read-only root, small memory limits, a
 * cold page cache. Changes this machine while it runs (containers and control groups, as root), so it needs a yes like control
 * plane `node`; in CI it always runs.
 */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { request as requestTls } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { createTestAuthority } from '@csi-sidecars/runtime/testing';
import { startTestDriver, type TestDriver } from '@csi-sidecars/test-driver';
import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  anonymousMib,
  commandOf,
  childrenOf,
  pause,
  unpack,
  until,
  type Container,
  type ContainerOptions,
  type Unpacked,
} from '../testing/container.ts';
import { inspect } from '../testing/inspect.ts';
import { buildImages, remembered } from './build.ts';
import { gzip, layoutOf } from './oci/layout.ts';
import { repositoryRoot } from './repository.ts';
import { imageSet } from './set.ts';
import { readPins } from './sources/pins.ts';

const allowed = process.env['CI'] === 'true' || process.env['CSI_SIDECARS_ALLOW_SYSTEM_CHANGES'] === '1';
const seconds = 1000;

describe.runIf(allowed)('containers of the images', () => {
  const images = new Map<string, Unpacked>();
  const folder = mkdtempSync(join(tmpdir(), 'csi-images-'));
  let driver: TestDriver;
  const open = new AsyncDisposableStack();

  beforeAll(async () => {
    const { images: built } = await buildImages({
      facts: { version: '1.2.3', created: '1970-01-01T00:00:00Z', revision: 'none' },
      platforms: [process.arch === 'arm64' ? 'linux/arm64' : 'linux/amd64'],
      debian: { env: process.env, pins: readPins(), pinned: 'preferred', report: () => undefined },
      compression: remembered(gzip, process.env),
    });
    for (const each of inspect(layoutOf(built))) images.set(each.name, open.use(unpack(each)));
    driver = open.use(await startTestDriver({ folder }));
    for (const path of ['registration', 'account']) mkdirSync(join(folder, path));
    writeFileSync(join(folder, 'account', 'token'), 'none');
    writeFileSync(join(folder, 'account', 'ca.crt'), rootCertificates[0]!);
    chmodSync(folder, 0o755);
  }, 300 * seconds);
  afterAll(async () => {
    await open.disposeAsync();
    rmSync(folder, { recursive: true, force: true });
  });

  const image = (name: string): Unpacked => images.get(name)!;
  const csi = ['--csi-address=/csi/csi.sock'];
  /** A pod's settings of a cluster that cannot be reached. */
  const inCluster = (): ContainerOptions => ({
    mounts: { '/csi': folder, '/var/run/secrets/kubernetes.io/serviceaccount': join(folder, 'account') },
    env: { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1' },
  });
  const withDriver: ContainerOptions = { mounts: { '/csi': folder } };

  describe('what a program needs to start', () => {
    it.each(
      imageSet
        .map(({ name }) => name)
        .filter((name) => !['livenessprobe', 'snapshot-conversion-webhook'].includes(name)),
    )(
      '[packaging#7] given %s with --version, then one line and exit 0 without driver, cluster, network settings or a writable file',
      async (name) => {
        const ended = await image(name).run({ args: ['--version'] });
        // The combined program has the name of upstream's plan, however it is called.
        const called = name === 'csi-sidecars' ? name : `/${name}`;
        expect(ended).toEqual({
          code: 0,
          stdout: expect.stringMatching(new RegExp(`^${called} v\\d+\\.\\d+\\.\\d+\\n$`)),
          stderr: '',
        });
      },
    );

    it('[packaging#5] given the path of a program as command, then it is what the image of that program runs, also from the combined image', async () => {
      const entrypoint = await image('csi-provisioner').run({ args: ['--version'] });
      const asCommand = { command: ['/csi-provisioner'], args: ['--version'] };
      expect(await image('csi-provisioner').run(asCommand)).toEqual(entrypoint);
      expect(await image('csi-sidecars').run(asCommand)).toEqual(entrypoint);
    });

    it('given csi-sidecars by its name alone, then it is found in PATH', async () => {
      const ended = await image('csi-sidecars').run({ command: ['csi-sidecars'], args: ['--version'] });
      expect(ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S*csi-sidecars v\d/) });
    });

    it('[packaging#8] [packaging#9] given a uid without a name, no HOME, a read-only root and no mount at /tmp, then livenessprobe answers', async () => {
      chmodSync(driver.socket, 0o777);
      await using container = image('livenessprobe').start({
        ...withDriver,
        uid: 12_345,
        args: [...csi, '--http-endpoint=127.0.0.1:29881'],
      });
      expect(await healthy(container, 29_881)).toBeLessThan(10 * seconds);
    });
  });

  describe('the socket of the driver', () => {
    const livenessprobe = (options: ContainerOptions): Container =>
      image('livenessprobe').start({ ...withDriver, args: [...csi, '--http-endpoint=127.0.0.1:29886'], ...options });

    it('[packaging#1] given a socket of root with mode 0755 and uid 1000, then every attempt fails, the log names permission and user, and after 30 s the program ends', async () => {
      chmodSync(driver.socket, 0o755);
      const { code, stderr } = await image('csi-attacher').run({ ...inCluster(), uid: 1000, args: csi });
      expect(code).toBe(1);
      expect(stderr).toMatch(/Still connecting.*EACCES.*uid 1000/);
    }, 60_000);

    it('[packaging#2] given a socket whose group is that of the process and mode 0755, then it still cannot connect', async () => {
      chownSync(driver.socket, 0, 2000);
      chmodSync(driver.socket, 0o755);
      await using container = livenessprobe({ uid: 1000, gid: 2000 });
      await until(() => container.logged().includes('Still connecting'), 30 * seconds);
      expect(container.logged()).toMatch(/Still connecting.*EACCES/);
      expect(await answers(29_886)).toBe(false);
    }, 60_000);

    it('[packaging#3] given mode 0666, then any uid connects', async () => {
      chmodSync(driver.socket, 0o666);
      await using container = livenessprobe({ uid: 1000 });
      expect(await healthy(container, 29_886)).toBeLessThan(10 * seconds);
    }, 60_000);
  });

  describe('memory', () => {
    const heapLimit = async (env: Readonly<Record<string, string>>): Promise<number> => {
      const script = 'console.log(require("v8").getHeapStatistics().heap_size_limit / 2 ** 20)';
      const ended = await image('livenessprobe').run({
        command: ['/nodejs/bin/node', '-e', script],
        memoryMib: 256,
        env,
      });
      expect(ended).toMatchObject({ code: 0, stderr: '' });
      return Math.round(Number(ended.stdout));
    };

    it('[packaging#10] given a limit of 256 MiB, then without a flag the heap may exceed it, and with the flag of the image it may not', async () => {
      expect(await heapLimit({ NODE_OPTIONS: '' })).toBeGreaterThan(256);
      expect(await heapLimit({})).toBe(195);
    });

    it('[packaging#11] given NODE_OPTIONS in the manifest, then they replace those of the image', async () => {
      expect(await heapLimit({ NODE_OPTIONS: '--max-old-space-size=100' })).toBe(103);
    });

    it.each([
      ['livenessprobe', ['--http-endpoint=127.0.0.1:29882']],
      [
        'csi-node-driver-registrar',
        [
          '--http-endpoint=127.0.0.1:29882',
          '--kubelet-registration-path=/csi/csi.sock',
          '--plugin-registration-path=/registration',
        ],
      ],
    ])(
      '[packaging#16] given 64 MiB and a cold page cache, when %s starts, then it is healthy within 5 s',
      async (name, args) => {
        chmodSync(driver.socket, 0o777);
        image(name).dropFromPageCache();
        await using container = image(name).start({
          mounts: { '/csi': folder, '/registration': join(folder, 'registration') },
          args: [...csi, ...args],
          memoryMib: 64,
        });
        expect(await healthy(container, 29_882)).toBeLessThan(5 * seconds);
      },
      60 * seconds,
    );

    it(
      '[snapshot-conversion-webhook#13] given the memory limit of the chart, when one client sends the largest bodies and larger ones on twelve connections, then the webhook lives and answers others',
      async () => {
        const certificates = join(folder, 'certificates');
        mkdirSync(certificates, { recursive: true });
        const pair = createTestAuthority().issue({ commonName: 'webhook', hosts: ['127.0.0.1'] });
        writeFileSync(join(certificates, 'tls.crt'), pair.cert);
        writeFileSync(join(certificates, 'tls.key'), pair.key);
        const port = 29_887;
        await using container = image('snapshot-conversion-webhook').start({
          mounts: { '/tls': certificates },
          args: ['--tls-cert-file=/tls/tls.crt', '--tls-private-key-file=/tls/tls.key', `--port=${port}`],
          memoryMib: webhookLimitMib(),
        });
        await until(() => container.logged().includes('"Listening"'), 20 * seconds);
        const largest = aReview(4 * mib);
        expect(await convert(port, largest)).toBe(200);
        const tooLarge = Buffer.from(`[${'{},'.repeat(8 * mib)}{}]`);
        const bodies = [largest, tooLarge, largest];
        const sent = Array.from({ length: 12 }, async () => {
          const statuses: (number | string)[] = [];
          for (const body of bodies) statuses.push(await convert(port, body));
          return statuses;
        });
        const statuses = new Set((await Promise.all(sent)).flat());
        // The budget of the server closes connections of a client that has too many of them.
        expect([...statuses].filter((status) => ![200, 413, 'closed'].includes(status))).toEqual([]);
        expect(statuses).toContain(200);
        expect(await convert(port, aReview(mib))).toBe(200);
      },
      120 * seconds,
    );
  });

  describe('the life of a container', () => {
    it.each([
      'livenessprobe',
      'csi-node-driver-registrar',
      'csi-attacher',
      'csi-provisioner',
      'csi-resizer',
      'csi-snapshotter',
    ])(
      '[packaging#12] given %s as process 1, when it gets SIGTERM while it waits for the driver, then it ends within a second',
      async (name) => {
        const args = name === 'csi-node-driver-registrar' ? ['--kubelet-registration-path=/csi/csi.sock'] : [];
        await using container = image(name).start({ ...inCluster(), args: ['--csi-address=/csi/none.sock', ...args] });
        const pid = await container.pid();
        await until(() => commandOf(pid)[1] === `/${name}`);
        await pause(seconds);
        expect(commandOf(pid).slice(0, 2)).toEqual(['/nodejs/bin/node', `/${name}`]);
        const sentMs = performance.now();
        await container.signal('SIGTERM');
        await container.ended;
        expect(performance.now() - sentMs).toBeLessThan(seconds);
      },
      30_000,
    );

    it(
      '[packaging#13] given an exec probe again and again, then no process is left behind and memory does not grow',
      async () => {
        chmodSync(driver.socket, 0o777);
        const registration = ['--kubelet-registration-path=/csi/csi.sock', '--plugin-registration-path=/registration'];
        await using container = image('csi-node-driver-registrar').start({
          mounts: { '/csi': folder, '/registration': join(folder, 'registration') },
          args: [...csi, ...registration, '--http-endpoint=127.0.0.1:29885'],
        });
        await healthy(container, 29_885);
        const pid = await container.pid();
        const probe = ['/csi-node-driver-registrar', ...registration, '--mode=kubelet-registration-probe'];
        const before = anonymousMib(pid);
        for (let count = 0; count < 20; count += 1) expect((await container.exec(probe)).code).toBe(0);
        expect(childrenOf(pid)).toEqual([]);
        expect(anonymousMib(pid) - before).toBeLessThan(1);
      },
      60 * seconds,
    );
  });
});

/** Milliseconds until `/healthz` answers 200. */
async function healthy(container: Container, port: number): Promise<number> {
  const startedMs = performance.now();
  let isOver = false;
  void container.ended.then(() => void (isOver = true));
  while (!(await answers(port))) {
    if (isOver) throw new Error(`the container has ended: ${container.logged()}`);
    await pause(10);
  }
  return performance.now() - startedMs;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path: '/healthz', agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode === 200));
    });
    request.on('error', () => resolve(false));
  });
}

const mib = 2 ** 20;

/** The limit that the chart of snapshot-controller sets. */
function webhookLimitMib(): number {
  const values = load(readFileSync(join(repositoryRoot, 'charts/snapshot-controller/values.yaml'), 'utf8')) as {
    readonly webhook: { readonly resources: { readonly limits: { readonly memory: string } } };
  };
  return Number(/^(\d+)Mi$/.exec(values.webhook.resources.limits.memory)?.[1]);
}

/** A ConversionReview of group contents, as large as fits. */
function aReview(bytes: number): Buffer {
  const info = { volumeHandle: 'v'.repeat(40), snapshotHandle: 's'.repeat(40), readyToUse: true, restoreSize: 1 };
  const content = {
    apiVersion: 'groupsnapshot.storage.k8s.io/v1beta2',
    kind: 'VolumeGroupSnapshotContent',
    metadata: { name: 'content', uid: 'uid' },
    spec: { driver: 'a', deletionPolicy: 'Delete', source: { volumeHandles: [] } },
    status: { volumeSnapshotInfoList: Array.from({ length: 10 }, () => info) },
  };
  const request = { uid: 'u', desiredAPIVersion: 'groupsnapshot.storage.k8s.io/v1' };
  const review = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', request };
  const count = Math.floor((bytes - 500) / (JSON.stringify(content).length + 1));
  const objects = Array.from({ length: count }, () => content);
  return Buffer.from(JSON.stringify({ ...review, request: { ...request, objects } }));
}

/** The status of the answer, or how the request ended without one. */
function convert(port: number, body: Buffer): Promise<number | string> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json' };
    const target = { host: '127.0.0.1', port, path: '/convert', method: 'POST', headers, agent: false };
    const request = requestTls({ ...target, rejectUnauthorized: false }, (response) => {
      response.resume().on('close', () => resolve(response.complete ? (response.statusCode ?? 0) : 'closed'));
    });
    request.on('error', ({ code = '' }: NodeJS.ErrnoException) =>
      resolve(['ECONNRESET', 'EPIPE'].includes(code) ? 'closed' : code),
    );
    request.end(body);
  });
}
