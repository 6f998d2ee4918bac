// SPDX-License-Identifier: Apache-2.0
/** N-09: the probe that many manifests give the registrar: its own program, started again and again in its container. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { events, type Pod } from '@csi-sidecars/runtime';
import { deployDriverOnly, registrationFolder, untilRegistered } from '../../deployment/deploy.ts';
import { imageOf } from '../../images/images.ts';
import type { ScenarioContext } from '../context.ts';
import { containerOf, getPod, startPod, untilReady } from '../pod-life.ts';
import type { Scenario } from '../scenario.ts';

const windowMs = { full: 60_000, tenth: 20_000 } as const;
const registrar = 'registrar';
const program = 'csi-node-driver-registrar';

export const probes: readonly Scenario[] = [
  {
    id: 'N-09',
    title:
      'exec probe of the registrar (--mode=kubelet-registration-probe) every second for a minute (20 s without --full): each ends within 1 s with 0',
    needs: ['kubelet'],
    exclusive: ['kubelet'],
    run: async (ctx) => {
      const { load, timeFactor } = ctx.testRun;
      const { node } = await deployDriverOnly(ctx);
      const folder = join(node.kubeletRoot, 'plugins', ctx.driverName);
      await startPod(
        ctx,
        probedPod({ folder, registrations: registrationFolder(node), timeoutSeconds: Math.ceil(timeFactor) }),
      );
      const since = readySince(await untilReady(ctx, registrar));
      await untilRegistered(ctx);

      await ctx.consistently({
        forMs: windowMs[load],
        check: async () => {
          const now = await getPod(ctx, registrar);
          assert.equal(containerOf(now, registrar).restartCount, 0);
          assert.equal(readySince(now), since, 'ready without interruption');
        },
      });
      assert.deepEqual(await failedProbes(ctx), []);
    },
  },
];

interface Place {
  readonly folder: string;
  readonly registrations: string;
  readonly timeoutSeconds: number;
}

/** One failure restarts the container, or ends its state Ready, which only a success can begin. */
function probedPod({ folder, registrations, timeoutSeconds }: Place): Pod {
  const path = `--kubelet-registration-path=${folder}/csi.sock`;
  const command = [`/${program}`, path, '--mode=kubelet-registration-probe'];
  const probe = { exec: { command }, periodSeconds: 1, timeoutSeconds, failureThreshold: 1 };
  const mounts = { csi: folder, registration: registrations };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    // As the pods of drivers have it: it outlives their users.
    metadata: { name: registrar, labels: { component: 'csi-driver' } },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 5,
      containers: [
        {
          name: registrar,
          image: imageOf(program),
          imagePullPolicy: 'Never',
          args: ['--csi-address=/csi/csi.sock', path],
          livenessProbe: probe,
          readinessProbe: probe,
          volumeMounts: Object.keys(mounts).map((name) => ({ name, mountPath: `/${name}` })),
        },
      ],
      volumes: Object.entries(mounts).map(([name, each]) => ({ name, hostPath: { path: each, type: 'Directory' } })),
    },
  };
}

/** Undefined while the pod is not ready. */
function readySince({ status }: Pod): string | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' ? String(ready.lastTransitionTime) : undefined;
}

async function failedProbes({ api, namespace }: ScenarioContext): Promise<readonly (string | undefined)[]> {
  const { items } = await api.list(events, { namespace });
  return items
    .filter(({ reason, involvedObject }) => reason === 'Unhealthy' && involvedObject.name === registrar)
    .map(({ message }) => message);
}
