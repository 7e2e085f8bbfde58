"""The fields of more kinds in Kubernetes' Protobuf, in the form of `protobuf_fields`: what Go programs send that speak
it (leader election and event recorders of controllers), and typed commands of kubectl (`create deployment`, `service`,
`quota`). Names and numbers as the tags of k8s.io/api's types.go have them; the parts of pods are in `protobuf_pods`.
"""

CORE = """\
Event metadata=1:ObjectMeta involvedObject=2:ObjectReference reason=3 message=4 source=5:EventSource
  firstTimestamp=6:Time lastTimestamp=7:Time count=8# type=9 eventTime=10:MicroTime series=11:EventSeries? action=12
  related=13:ObjectReference? reportingComponent=14 reportingInstance=15
EventSource component=1 host=2
EventSeries count=1# lastObservedTime=2:MicroTime
ObjectReference kind=1 namespace=2 name=3 uid=4 apiVersion=5 resourceVersion=6 fieldPath=7
ServiceAccount metadata=1:ObjectMeta secrets=2:ObjectReference* imagePullSecrets=3:LocalObjectReference*
  automountServiceAccountToken=4!?
Binding metadata=1:ObjectMeta target=2:ObjectReference
Service metadata=1:ObjectMeta spec=2:ServiceSpec
ServiceSpec ports=1:ServicePort* selector=2:texts clusterIP=3 clusterIPs=18* type=4 externalIPs=5* sessionAffinity=7
  loadBalancerIP=8 loadBalancerSourceRanges=9* externalName=10 externalTrafficPolicy=11 healthCheckNodePort=12#
  publishNotReadyAddresses=13! sessionAffinityConfig=14:SessionAffinityConfig? ipFamilies=19* ipFamilyPolicy=17?
  allocateLoadBalancerNodePorts=20!? loadBalancerClass=21? internalTrafficPolicy=22? trafficDistribution=23?
ServicePort name=1 protocol=2 appProtocol=6? port=3#? targetPort=4:IntOrString nodePort=5#
SessionAffinityConfig clientIP=1:ClientIPConfig?
ClientIPConfig timeoutSeconds=1#?
Endpoints metadata=1:ObjectMeta subsets=2:EndpointSubset*
EndpointSubset addresses=1:EndpointAddress* notReadyAddresses=2:EndpointAddress* ports=3:EndpointPort*
EndpointAddress ip=1? hostname=3 nodeName=4? targetRef=2:ObjectReference?
EndpointPort name=1 port=2#? protocol=3 appProtocol=4?
PersistentVolumeClaim metadata=1:ObjectMeta spec=2:PersistentVolumeClaimSpec
ResourceQuota metadata=1:ObjectMeta spec=2:ResourceQuotaSpec
ResourceQuotaSpec hard=1:quantities scopes=2* scopeSelector=3:ScopeSelector?
ScopeSelector matchExpressions=1:ScopedResourceSelectorRequirement*
ScopedResourceSelectorRequirement scopeName=1? operator=2? values=3*
LimitRange metadata=1:ObjectMeta spec=2:LimitRangeSpec
LimitRangeSpec limits=1:LimitRangeItem*
LimitRangeItem type=1? max=2:quantities min=3:quantities default=4:quantities defaultRequest=5:quantities
  maxLimitRequestRatio=6:quantities
Lease metadata=1:ObjectMeta spec=2:LeaseSpec
LeaseSpec holderIdentity=1? leaseDurationSeconds=2#? acquireTime=3:MicroTime? renewTime=4:MicroTime?
  leaseTransitions=5#? strategy=6? preferredHolder=7?
Deployment metadata=1:ObjectMeta spec=2:DeploymentSpec
DeploymentSpec replicas=1#? selector=2:LabelSelector? template=3:PodTemplateSpec strategy=4:DeploymentStrategy
  minReadySeconds=5# revisionHistoryLimit=6#? paused=7! progressDeadlineSeconds=9#?
DeploymentStrategy type=1 rollingUpdate=2:RollingUpdateDeployment?
RollingUpdateDeployment maxUnavailable=1:IntOrString? maxSurge=2:IntOrString?
PodTemplateSpec metadata=1:ObjectMeta spec=2:PodSpec
"""
NEW_EVENTS = """\
Event metadata=1:ObjectMeta eventTime=2:MicroTime series=3:EventSeries? reportingController=4 reportingInstance=5
  action=6 reason=7 regarding=8:ObjectReference related=9:ObjectReference? note=10 type=11
  deprecatedSource=12:EventSource deprecatedFirstTimestamp=13:Time deprecatedLastTimestamp=14:Time deprecatedCount=15#
"""
"""Of events.k8s.io/v1; its other messages are core's."""
