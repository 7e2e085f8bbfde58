"""A random forest on scikit-learn's own digits."""

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

digits = load_digits()
train_x, test_x, train_y, test_y = train_test_split(digits.data, digits.target, random_state=1)
forest = RandomForestClassifier(n_estimators=200, random_state=1).fit(train_x, train_y)
print("accuracy:", forest.score(test_x, test_y))
print("loss:", log_loss(test_y, forest.predict_proba(test_x)))
