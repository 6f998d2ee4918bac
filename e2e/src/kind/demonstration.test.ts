// SPDX-License-Identifier: Apache-2.0
/** The commands of `npm run kind`, by a runner that only writes them down: there is no container engine where tests run. */
import { describe, expect, it } from 'vitest';
import { createDisplay } from '../demo/display.ts';
import { systemClock } from '@csi-sidecars/runtime';
import { Refusal } from '../refusal.ts';
import { demonstrate, type KindDeps } from './demonstration.ts';
import { driverDockerfile } from './driver-dockerfile.ts';
import { driverReference } from './objects.ts';

const sum = 'a'.repeat(64);
const answers: readonly (readonly [RegExp, string])[] = [
  [/^docker version/, 'arm64\n'],
  [/^kind get clusters/, 'another\n'],
  [/^kubectl version/, 'Client Version: v1.36.0\nServer Version: v1.36.1\n'],
  [/^kubectl logs/, `${sum}  /data/file\n`],
];

interface Shown {
  readonly commands: readonly string[];
  /** What commands got, in order: kinds and names of objects, or `values`. */
  readonly inputs: readonly string[];
  readonly screen: string;
  readonly error: unknown;
}

/** `fails`: the first command that it matches does. `says`: answers over those above. */
async function shown(
  over: Partial<KindDeps> & { readonly fails?: RegExp; readonly says?: typeof answers } = {},
): Promise<Shown> {
  const { fails, says = [], ...deps } = over;
  const [commands, inputs]: [string[], string[]] = [[], []];
  let screen = '';
  const display = createDisplay(systemClock(), { write: (text) => (screen += text) });
  const error = await demonstrate({
    display,
    programs: { docker: 'docker', kind: 'kind', helm: 'helm' },
    work: '/run/demo',
    charts: '/charts',
    tag: 'demo',
    end: 'remove',
    pause: () => Promise.resolve(),
    writeImages: async (path, architecture) => void commands.push(`write ${path} ${architecture}`),
    writeDriver: async (folder) => void commands.push(`write ${folder}`),
    run: (command, args, { input, always } = {}) => {
      const line = [command, ...args]
        .join(' ')
        .replace(/^docker exec -i csi-sidecars-demo-control-plane kubectl --kubeconfig=\S+/, 'kubectl');
      commands.push(always ? `${line} (always)` : line);
      if (input !== undefined) inputs.push(named(input));
      if (fails?.test(line)) return Promise.reject(new Error(`${line} failed`));
      return Promise.resolve([...says, ...answers].find(([pattern]) => pattern.test(line))?.[1] ?? '');
    },
    ...deps,
  }).catch((thrown: unknown) => thrown);
  return { commands, inputs, screen, error };
}

function named(input: string): string {
  const objects = input
    .split('\n---\n')
    .map((text) => JSON.parse(text) as { kind?: string; metadata?: { name: string } });
  return objects.map(({ kind, metadata }) => (kind === undefined ? 'values' : `${kind}/${metadata?.name}`)).join(' ');
}

const cluster = '--name csi-sidecars-demo --kubeconfig /run/demo/kubeconfig';
const deleted = `kind delete cluster ${cluster} (always)`;

describe('[packaging#64] npm run kind', () => {
  it('given docker, then a cluster with our images and charts shows the life of a volume, and all of it goes again', async () => {
    const { commands, inputs, error } = await shown();
    const helm = (release: string, chart: string, namespace: string): string =>
      `helm upgrade --install ${release} /charts/${chart} --namespace ${namespace} --create-namespace --values - --wait --timeout 180s --kubeconfig /run/demo/kubeconfig`;
    const wait = (what: string): string => `kubectl wait --for=${what} --timeout=180s`;
    const gone = (release: string, namespace: string): string =>
      `helm uninstall ${release} --namespace ${namespace} --wait --timeout 180s --kubeconfig /run/demo/kubeconfig`;
    expect(error).toBeUndefined();
    expect(commands).toEqual([
      'docker version --format {{.Server.Arch}}',
      'kind get clusters',
      'write /run/demo/images.tar arm64',
      'write /run/demo/driver',
      `docker build --tag ${driverReference} /run/demo/driver`,
      `kind create cluster ${cluster} --wait 180s`,
      'kind load image-archive /run/demo/images.tar --name csi-sidecars-demo',
      `kind load docker-image ${driverReference} --name csi-sidecars-demo`,
      'kubectl version',
      helm('snapshot-controller', 'snapshot-controller', 'kube-system'),
      helm('demo', 'csi-driver', 'csi-demo'),
      'helm test demo --namespace csi-demo --timeout 180s --kubeconfig /run/demo/kubeconfig',
      'kubectl apply -f -',
      wait('condition=Ready pod/writer'),
      'kubectl logs writer',
      'kubectl apply -f -',
      wait('jsonpath={.status.capacity.storage}=2Gi persistentvolumeclaim/data'),
      'kubectl apply -f -',
      wait('jsonpath={.status.readyToUse}=true volumesnapshot/yesterday'),
      'kubectl apply -f -',
      wait('condition=Ready pod/reader'),
      'kubectl logs reader',
      'kubectl delete pod/writer pod/reader --timeout=180s',
      'kubectl delete volumesnapshot/yesterday --timeout=180s',
      'kubectl delete persistentvolumeclaim/data persistentvolumeclaim/restored --timeout=180s',
      'kubectl get pv,volumeattachments,volumesnapshotcontents --output=name',
      gone('demo', 'csi-demo'),
      gone('snapshot-controller', 'kube-system'),
      deleted,
    ]);
    expect(inputs).toEqual([
      'values',
      'values',
      'PersistentVolumeClaim/data Pod/writer',
      'PersistentVolumeClaim/data',
      'VolumeSnapshot/yesterday',
      'PersistentVolumeClaim/restored Pod/reader',
    ]);
  });

  it('given an image for the node, then the cluster has it', async () => {
    const { commands } = await shown({ nodeImage: 'kindest/node:v1.35.0' });
    expect(commands).toContain(`kind create cluster ${cluster} --image kindest/node:v1.35.0 --wait 180s`);
  });

  it('given a cluster of that name, then it is refused with the command that deletes it, and nothing is touched', async () => {
    const { commands, error } = await shown({ says: [[/^kind get clusters/, 'csi-sidecars-demo\n']] });
    expect(error).toBeInstanceOf(Refusal);
    expect((error as Error).message).toContain('kind delete cluster --name csi-sidecars-demo');
    expect(commands).toHaveLength(2);
  });

  it.each([
    /^kind create/,
    /^kind load image/,
    /^helm upgrade --install demo/,
    /^helm test/,
    /^kubectl wait/,
    /^helm uninstall/,
  ])('given a command that fails (%s), then the logs are kept and the cluster is deleted', async (fails) => {
    const { commands, error, screen } = await shown({ fails });
    expect(error).toBeInstanceOf(Error);
    expect(commands.slice(-2)).toEqual(['kind export logs /run/demo/logs --name csi-sidecars-demo (always)', deleted]);
    expect(screen).toMatch(/^FAILED .* failed \(/m);
    expect(screen).toContain('Logs of the cluster are in /run/demo/logs.');
  });

  it('given other data in the restored volume, then it fails', async () => {
    const { error } = await shown({ says: [[/^kubectl logs reader/, `${'b'.repeat(64)}  /data/file\n`]] });
    expect((error as Error).message).toContain('pod reader has read bbbb');
  });

  it('given volumes that stay, then it fails with their names after a minute of looking', async () => {
    const pauses: number[] = [];
    const { error } = await shown({
      says: [[/^kubectl get pv/, 'persistentvolume/a\nvolumeattachment/b\n']],
      pause: async (milliseconds) => void pauses.push(milliseconds),
    });
    expect((error as Error).message).toBe('this is left: persistentvolume/a, volumeattachment/b');
    expect(pauses.reduce((all, each) => all + each, 0)).toBe(60_000);
  });

  it('given --keep, then volumes and cluster stay, and the last lines say how to look and how to delete', async () => {
    const { commands, screen, error } = await shown({ end: 'keep' });
    expect(error).toBeUndefined();
    expect(commands.at(-1)).toBe('kubectl logs reader');
    expect(screen).toContain('export KUBECONFIG=/run/demo/kubeconfig; kubectl get pods -A\n');
    expect(screen).toContain('kind delete cluster --name csi-sidecars-demo\n');
  });

  it('given the driver, then its image has the Node.js of ours', () => {
    expect(driverDockerfile()).toMatch(/^FROM node:24\.\d+\.\d+-bookworm-slim\n/);
  });
});
