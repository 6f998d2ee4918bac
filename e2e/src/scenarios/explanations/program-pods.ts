// SPDX-License-Identifier: Apache-2.0
/**
 * On control plane `local` sidecars are processes, and no kubelet runs pods. A Pod object with the name of a replica stands for the pod of its
 * process, and the scenario writes the status that a kubelet would write.
 */
import { type Pod, pods } from '@csi-sidecars/runtime';
import type { ControllerName } from '../../processes/program.ts';
import type { ScenarioContext } from '../context.ts';

export interface ProgramPodOptions {
  /** The replica: the holder of the Lease. */
  readonly name: string;
  readonly program: ControllerName;
  /** Default: that of the namespace. */
  readonly serviceAccountName?: string;
  readonly memoryLimit?: string;
}

export async function createProgramPod(
  ctx: ScenarioContext,
  { name, program, serviceAccountName, memoryLimit }: ProgramPodOptions,
): Promise<void> {
  const limits = memoryLimit === undefined ? {} : { resources: { limits: { memory: memoryLimit } } };
  await ctx.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      containers: [{ name: program, image: `none/${program}`, ...limits }],
      // No scheduler takes it, so that no emulated node runs it.
      schedulerName: 'nobody',
      ...(serviceAccountName !== undefined && { serviceAccountName }),
    },
  });
}

/** What only a kubelet writes. */
export async function writePodStatus(
  ctx: ScenarioContext,
  name: string,
  status: Pod['status'] & object,
): Promise<void> {
  const ref = { namespace: ctx.namespace, name };
  await ctx.api.patch({ resource: pods, ref }, { type: 'merge', body: { status } }, { subresource: 'status' });
}
