// SPDX-License-Identifier: Apache-2.0
/** The name rules of RFC 1123 as the API server applies them to names of objects and of namespaces. */
const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

export function isDnsLabel(name: string): boolean {
  return name.length <= 63 && label.test(name);
}

export function isDnsSubdomain(name: string): boolean {
  return name.length <= 253 && subdomain.test(name);
}
