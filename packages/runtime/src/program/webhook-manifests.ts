// SPDX-License-Identifier: Apache-2.0
/** What has to be in the cluster for the admission webhooks of a controller: a Service, the configurations that name it, and a volume with its certificate. */
import type { Service } from '../api/common-resources.ts';
import type { KubeObject } from '../api/objects.ts';
import { readyPath } from '../webhook/webhook.ts';
import type { Webhooks } from '../webhook/webhooks.ts';

export interface WebhookPlace {
  /** The name of the controller. */
  readonly name: string;
  readonly namespace: string;
  /** PEM of the issuers of the certificate. Undefined: cert-manager writes them. */
  readonly caBundle?: string | undefined;
}

const portName = 'webhooks';
/** Between the removal of the endpoint and the signal to the process. Kubernetes 1.30. */
export const preStopSeconds = 5;
const nameOf = (controller: string): string => `${controller}-webhooks`;

export function webhookService({ name, namespace }: WebhookPlace): Service {
  const labels = { 'app.kubernetes.io/name': name };
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: nameOf(name), namespace, labels },
    spec: { selector: labels, ports: [{ name: 'https', port: 443, targetPort: portName }] },
  };
}

interface Configuration extends KubeObject {
  readonly webhooks: readonly object[];
}

/** At most one of each kind. */
export function webhookConfigurations(
  { admission }: Webhooks,
  { name, namespace, caBundle }: WebhookPlace,
): readonly KubeObject[] {
  const service = { name: nameOf(name), namespace };
  const ca = caBundle === undefined ? {} : { caBundle: Buffer.from(caBundle).toString('base64') };
  const annotations = { 'cert-manager.io/inject-ca-from': `${namespace}/${nameOf(name)}` };
  const kinds = [
    ['validating', 'ValidatingWebhookConfiguration'],
    ['mutating', 'MutatingWebhookConfiguration'],
  ] as const;
  return kinds.flatMap(([type, kind]) => {
    const declared = admission.filter((each) => each.kind === type);
    if (declared.length === 0) return [];
    const configuration: Configuration = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind,
      metadata: { name, ...(caBundle === undefined && { annotations }) },
      webhooks: declared.map(({ entry, path }) => ({
        ...entry,
        clientConfig: { service: { ...service, path }, ...ca },
      })),
    };
    return [configuration];
  });
}

/** What the pods of the Deployment need. The Secret, as cert-manager makes it, has the name of the Service. */
export function webhookPod(
  { port, certificates }: Webhooks,
  { name }: Pick<WebhookPlace, 'name'>,
): {
  readonly volumes: readonly SecretVolume[];
  readonly container: object;
  readonly port: ContainerPort;
} {
  return {
    volumes: [{ name: portName, secret: { secretName: nameOf(name) } }],
    port: { name: portName, containerPort: port },
    container: {
      volumeMounts: [{ name: portName, mountPath: certificates, readOnly: true }],
      readinessProbe: { httpGet: { path: readyPath, port: portName, scheme: 'HTTPS' } },
      // The process has to answer until no API server sends anything to its pod any more.
      lifecycle: { preStop: { sleep: { seconds: preStopSeconds } } },
    },
  };
}

interface SecretVolume {
  readonly name: string;
  readonly secret: { readonly secretName: string };
}

interface ContainerPort {
  readonly name: string;
  readonly containerPort: number;
}
