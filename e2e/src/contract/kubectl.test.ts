// SPDX-License-Identifier: Apache-2.0
/** The real kubectl on the simulated API server. `npm run kubectl-on-sim` builds one first; elsewhere it is listed as skipped. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '@csi-sidecars/runtime';
import { serveOverHttp, type HttpEndpoint } from '@csi-sidecars/runtime/testing';
import { startSim, type Sim } from '@csi-sidecars/sim';
import { catalogue } from '../tools/catalogue.ts';
import { locate } from '../tools/locate.ts';

const kubectlPath = locate(catalogue.kubectl, process.env).path;
const run = promisify(execFile);

const volume = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'volume' },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    csi: { driver: 'csi.example.com', volumeHandle: 'handle' },
  },
};
const storageClass = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'fast' },
  provisioner: 'csi.example.com',
};

describe.skipIf(!existsSync(kubectlPath))(
  'kubectl on a simulated cluster (needs a built kubectl)',
  () => {
    let sim: Sim;
    let endpoint: HttpEndpoint;
    let folder: string;

    beforeAll(async () => {
      sim = startSim({ clock: systemClock(), random: systemRandom(), nodes: [{ name: 'node-1' }] });
      endpoint = await serveOverHttp(sim.server.transport, { port: 0 });
      folder = mkdtempSync(join(tmpdir(), 'kubectl-'));
    });
    afterAll(async () => {
      await endpoint.close();
      await sim.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    async function kubectl(...args: readonly string[]): Promise<string> {
      const connection = ['--server', endpoint.url, '--cache-dir', join(folder, 'cache'), '--kubeconfig', '/dev/null'];
      const { stdout } = await run(kubectlPath, [...connection, ...args]);
      return stdout.trim();
    }

    function manifest(name: string, ...objects: readonly object[]): string {
      const path = join(folder, `${name}.yaml`);
      // Documents of one file, not a List: to validate that kind kubectl wants OpenAPI v2.
      writeFileSync(path, objects.map((object) => JSON.stringify(object)).join('\n---\n'));
      return path;
    }

    it('applies, gets, changes and deletes objects, with validation on', async () => {
      const path = manifest('all', volume, storageClass);
      expect(await kubectl('apply', '-f', path)).toBe(
        'persistentvolume/volume created\nstorageclass.storage.k8s.io/fast created',
      );
      expect(await kubectl('apply', '-f', path)).toMatch(/^persistentvolume\/volume unchanged$/m);
      expect(await kubectl('label', 'pv', 'volume', 'team=storage')).toBe('persistentvolume/volume labeled');
      expect(await kubectl('get', 'pv', '-l', 'team=storage', '-o', 'name')).toBe('persistentvolume/volume');
      expect(await kubectl('get', 'sc', 'fast', '-o', 'jsonpath={.reclaimPolicy}')).toBe('Delete');
      expect(await kubectl('delete', '-f', path)).toMatch(/persistentvolume "volume" deleted/);
      await expect(kubectl('get', 'pv', 'volume')).rejects.toThrow(/persistentvolumes "volume" not found/);
    });

    it('applies on the server side and sees conflicts', async () => {
      const apply = (manager: string, path: string): Promise<string> =>
        kubectl('apply', '--server-side', `--field-manager=${manager}`, '-f', path);
      const first = manifest('first', { ...storageClass, metadata: { name: 'owned', labels: { a: '1' } } });
      const second = manifest('second', { ...storageClass, metadata: { name: 'owned', labels: { a: '2' } } });
      expect(await apply('one', first)).toMatch(/owned serverside-applied/);
      await expect(apply('two', second)).rejects.toThrow(/conflict with "one": \.metadata\.labels\.a/);
    });

    it('installs a definition and uses its kind', async () => {
      const names = { plural: 'widgets', singular: 'widget', kind: 'Widget' };
      const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } };
      const definition = {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'widgets.example.com' },
        spec: { group: 'example.com', scope: 'Namespaced', names, versions: [version] },
      };
      await kubectl('apply', '-f', manifest('definition', definition));
      await kubectl('wait', '--for=condition=Established', 'crd/widgets.example.com', '--timeout=20s');
      const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'default' } };
      await kubectl('apply', '-f', manifest('widget', widget));
      expect(await kubectl('get', 'widgets', '-A', '-o', 'name')).toBe('widget.example.com/w');
    });

    it('gets a token for a ServiceAccount; what kubectl sends in protobuf is refused in words', async () => {
      const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'worker', namespace: 'default' } };
      await kubectl('apply', '-f', manifest('account', account));
      const request = manifest('token', { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} });
      const path = '/api/v1/namespaces/default/serviceaccounts/worker/token';
      const answer = JSON.parse(await kubectl('create', '--raw', path, '-f', request)) as { status: { token: string } };
      expect(answer.status.token).toMatch(/^sim\.default\.worker\./);
      await expect(kubectl('create', 'serviceaccount', 'other')).rejects.toThrow(/unknown format.*application\/json/);
    });
  },
  60_000,
);
